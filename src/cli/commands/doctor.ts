import { Command } from "commander";
import type { Finding, Verdict } from "../../doctor/finding.js";
import { type CommandLine, Ended } from "../command-line.js";
import { type DatabaseOptions, withDatabaseOptions, withMaintenance } from "../database-options.js";
import { oneLine, type Paint, type Tone } from "../paint.js";
import { lookOf, printJson, printLines } from "../print.js";

interface DoctorOptions extends DatabaseOptions {
  readonly json?: boolean;
}

export function doctorCommand(cli: CommandLine): Command {
  return withDatabaseOptions(new Command("doctor"))
    .description("look at the database, permissions, pooler, clocks, timings and connections, and say what to do")
    .option("--json", "print what was found as JSON")
    .action(async (options: DoctorOptions) => {
      const { database, findings } = await withMaintenance(cli, options, async (maintenance, place) => ({
        database: place.shown,
        findings: await maintenance.diagnose(),
      }));
      const exitCode = exitCodeOf(findings);
      if (options.json === true) printJson(cli, { ok: exitCode === 0, database, findings });
      else printLines(cli, findingLines(findings, lookOf(cli).paint));
      if (exitCode !== 0) throw new Ended(exitCode);
    });
}

/** Whoever reached the database has something to say about its schema. */
export function exitCodeOf(findings: readonly Finding[]): number {
  if (findings.every(({ verdict }) => verdict !== "problem")) return 0;
  return findings.some(({ check }) => check === "schema") ? 1 : 4;
}

const tones: Readonly<Record<Verdict, Tone>> = { ok: "good", warning: "warning", problem: "bad" };

export function findingLines(findings: readonly Finding[], paint: Paint): readonly string[] {
  const width = Math.max(0, ...findings.map(({ check }) => check.length));
  const lines = findings.flatMap(({ check, verdict, message, advice }) => {
    const head = `${paint(tones[verdict], verdict.padEnd("problem".length))}  ${check.padEnd(width)}  `;
    const indent = " ".repeat("problem".length + width + 4);
    return [
      `${head}${oneLine(message)}`,
      ...(advice === undefined ? [] : [`${indent}${paint("dim", "->")} ${oneLine(advice)}`]),
    ];
  });
  return [...lines, "", summaryOf(findings)];
}

function summaryOf(findings: readonly Finding[]): string {
  const count = (verdict: Verdict): number => findings.filter((finding) => finding.verdict === verdict).length;
  const [warnings, problems] = [count("warning"), count("problem")];
  if (warnings + problems === 0) return "All is well.";
  const some = (number: number, word: string): string => `${number} ${word}${number === 1 ? "" : "s"}`;
  return `${some(problems, "problem")}, ${some(warnings, "warning")}.`;
}
