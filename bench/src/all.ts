import { spawn } from "node:child_process";
import { benches } from "./benches.js";
import { atTheEnd, wasInterrupted } from "./cleanup.js";
import type { Order } from "./order.js";
import type { Report } from "./report.js";

/** Far beyond the longest of them: whatever hangs is ended, and the others have their turn. */
const longestMs = 30 * 60_000;
/** How long it may take to end what it has started. */
const cleaningMs = 30_000;

type Outcome = Pick<Report, "results" | "errors">;

/** Every bench in a process of its own, one after another: none meets what another left behind, or falls with it. */
export async function runAll(order: Order): Promise<Outcome> {
  const outcomes: Outcome[] = [];
  for (const bench of Object.keys(benches)) {
    if (wasInterrupted()) break;
    const { results, errors } = await runApart(bench, order);
    outcomes.push({ results: results.map((result) => ({ bench, ...result })), errors });
  }
  return {
    results: outcomes.flatMap(({ results }) => results),
    errors: outcomes.flatMap(({ errors }) => errors),
  };
}

async function runApart(bench: string, { rounds, messages }: Order): Promise<Outcome> {
  const counts = Object.entries({ rounds, messages }).flatMap(([name, count]) =>
    count === null ? [] : [`--${name}`, String(count)],
  );
  const child = spawn(process.execPath, [process.argv[1] ?? "", bench, "--json", ...counts], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const ended = new Promise<string>((resolve) => {
    child.once("close", (code, signal) => resolve(`it ended with ${signal ?? `code ${code}`} and told no result`));
  });
  const end = (): void => {
    child.kill("SIGTERM");
    setTimeout(() => child.kill("SIGKILL"), cleaningMs).unref();
  };
  const timer = setTimeout(end, longestMs);
  // When a run is interrupted, what this one has started is ended first.
  atTheEnd(async () => {
    if (child.exitCode === null && child.signalCode === null) end();
    await ended;
  });
  const ending = await ended;
  clearTimeout(timer);
  return outcomeOf(output) ?? { results: [], errors: [{ bench, message: ending }] };
}

/** Null where its last line is none. */
function outcomeOf(output: string): Outcome | null {
  try {
    const { results, errors } = JSON.parse(output.trimEnd().split("\n").at(-1) ?? "") as Report;
    return { results, errors };
  } catch {
    return null;
  }
}
