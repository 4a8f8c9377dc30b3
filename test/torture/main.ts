import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArguments, type TortureArguments } from "./arguments.js";
import { expectedRejections } from "./expected-rejections.js";
import type { FaultKind } from "./history.js";
import { judge } from "./judgement.js";
import { mayMakeNamespaces } from "./namespaces.js";
import { writeHistory } from "./recorder.js";
import { renderReport } from "./report/report.js";
import { type Tortured, torture } from "./run.js";
import { type Summary, summarize } from "./summary.js";
import { summaryTable } from "./summary-table.js";
import { everyWorkload } from "./workloads/every-workload.js";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Without networks of one's own nobody can be cut off from all, and no disk be filled that others use, too. */
const needNamespaces: readonly FaultKind[] = ["disk_full"];

/** The exit code: 0 where everything was tried and every promise kept, 1 where not, 2 where it was not understood. */
export async function main(args: readonly string[]): Promise<number> {
  const parsed = parseArguments(args, Date.now() % 1_000_000);
  if (parsed.kind === "refused") {
    process.stderr.write(`${parsed.message}\n`);
    return 2;
  }
  const given = new AbortController();
  const giveUp = (): void => given.abort(new Error("given up"));
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, giveUp);
  try {
    return await runAndReport(parsed.run, given.signal);
  } catch (error) {
    if (given.signal.aborted) {
      tell("given up; everything is cleaned up");
      return 130;
    }
    process.stderr.write(`the run could not be carried through: ${(error as Error).stack}\n`);
    return 1;
  }
}

async function runAndReport(run: TortureArguments, signal: AbortSignal): Promise<number> {
  const network = mayMakeNamespaces() ? "namespaces" : "loopback";
  const impossible = network === "namespaces" ? [] : needNamespaces.filter((kind) => run.faults.includes(kind));
  const faults = run.faults.filter((kind) => !impossible.includes(kind));
  const rejections = expectedRejections(faults, run.minutes);
  mkdirSync(run.out, { recursive: true });
  tell(`seed ${run.seed}: npm run torture -- --minutes ${run.minutes} --seed ${run.seed} repeats its plan`);
  const tortured = await torture({
    ...run,
    dist: join(root, "dist"),
    commit: commit(),
    faults,
    rejections,
    network,
    size: 3,
    workloads: everyWorkload(),
    logs: join(run.out, "logs"),
    tell,
    signal,
  });
  const { summary, table, report } = judged(tortured, run, impossible, rejections);
  await writeHistory(join(run.out, "history.jsonl"), tortured.history);
  await writeFile(join(run.out, "report.html"), report);
  await writeFile(join(run.out, "summary.json"), `${JSON.stringify(summary, null, 2)}\n`);
  tell(table);
  return summary.violations.length === 0 && summary.missing.length === 0 ? 0 : 1;
}

function judged(
  { history, collapses }: Tortured,
  { faults }: TortureArguments,
  impossible: readonly FaultKind[],
  rejections: readonly string[],
): { readonly summary: Summary; readonly table: string; readonly report: string } {
  const verdicts = judge(history);
  const violations = [
    ...verdicts.flatMap((verdict) => verdict.violations),
    ...collapses.map((text) => ({ checker: "processes", text, at: 0 })),
  ];
  const machine = `${cpus().length} x ${cpus()[0]?.model ?? "unknown"}, Node.js ${process.version}`;
  const summary = summarize({ history, wanted: faults, impossible, rejections, machine, violations });
  return { summary, table: summaryTable(summary, verdicts), report: renderReport(history, verdicts) };
}

/** Of what is run here; a copy that is no repository has none. */
function commit(): string {
  const args = ["describe", "--always", "--dirty", "--abbrev=10"];
  const { status, stdout } = spawnSync("git", args, { cwd: root, encoding: "utf8" });
  return status === 0 ? stdout.trim() : "unknown";
}

function tell(line: string): void {
  process.stdout.write(`${line}\n`);
}
