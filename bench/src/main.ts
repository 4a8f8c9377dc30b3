import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { runAll } from "./all.js";
import { benches } from "./benches.js";
import { cleanUp, cleanUpWhenInterrupted, wasInterrupted } from "./cleanup.js";
import { type Order, readOrder, usage } from "./order.js";
import { runProgram } from "./programs.js";
import { commitOf, describeMachine, passed, type Report } from "./report.js";
import { tableOf, verdictOf } from "./result.js";
import { runSoak, usualMinutes } from "./soak/soak.js";

/** Exit code 1 when a target was missed or a bench failed, so that nobody overlooks it; 2 when the command line is wrong. */
if (process.argv[2] === "--process") await runProgram(process.argv[3] ?? "", process.argv[4] ?? "");
else await main();

async function main(): Promise<void> {
  const order = readOrder(process.argv.slice(2));
  if (order === null) {
    console.error(usage);
    process.exitCode = 2;
    return;
  }
  cleanUpWhenInterrupted();
  const { name: bench, rounds, messages, minutes } = order;
  const machine = describeMachine();
  const at = new Date().toISOString();
  const commit = await commitOf(import.meta.dirname);
  const isTrial = rounds !== null || messages !== null || (minutes ?? usualMinutes) < usualMinutes;
  const trial = isTrial ? { rounds, messages, minutes } : null;
  const from = performance.now();
  const outcome = bench === "all" ? await runAll(order) : await runOne(order);
  if (wasInterrupted()) return;
  const seconds = Math.round((performance.now() - from) / 1000);
  await tell({ bench, machine, at, commit, trial, seconds, ...outcome }, order);
}

async function tell(report: Report, { json, out }: Order): Promise<void> {
  if (out !== null) await writeFile(out, `${JSON.stringify(report, null, 2)}\n`);
  if (json) console.log(JSON.stringify(report));
  else console.log(`${report.machine}\n\n${tableOf(report.results)}\n\n${verdictOf(report.results)}`);
  for (const { bench, message } of report.errors) console.error(`${bench} FAILED: ${message}`);
  // What a bench that failed still waits for is of no more use to anybody.
  process.stdout.write("", () => process.exit(passed(report) ? 0 : 1));
}

type Outcome = Pick<Report, "results" | "curves" | "errors">;

async function runOne(order: Order): Promise<Outcome> {
  const { name } = order;
  const from = performance.now();
  const progress = (text: string): void => console.error(`${name}: ${text}`);
  try {
    const outcome = await Promise.race([measure(order, progress), crashed()]);
    progress(`done in ${((performance.now() - from) / 1000).toFixed(0)} s`);
    return { ...outcome, errors: [] };
  } catch (error) {
    if (!wasInterrupted()) console.error(error);
    const [message = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
    // Reports are kept and shown, and the folders of a machine are nobody's business.
    return { results: [], errors: [{ bench: name, message: message.replaceAll(`${tmpdir()}/`, "") }] };
  } finally {
    await cleanUp();
  }
}

async function measure(
  { name, rounds, messages, minutes }: Order,
  progress: (text: string) => void,
): Promise<Omit<Outcome, "errors">> {
  if (name === "soak") return await runSoak(minutes, progress);
  const bench = benches[name];
  if (bench === undefined) throw new Error("there is no such bench");
  return { results: await bench({ rounds, messages, progress }) };
}

/** What fails where nobody waits for it fails the bench, and not the report of that. */
function crashed(): Promise<never> {
  return new Promise((_, reject) => {
    for (const event of ["uncaughtException", "unhandledRejection"] as const) process.on(event, reject);
  });
}
