import type { Verdict } from "./judgement.js";
import type { Summary } from "./summary.js";

const mostViolations = 40;

/** What a run shows, for a terminal. */
export function summaryTable(summary: Summary, verdicts: readonly Verdict[]): string {
  return [
    `seed ${summary.seed}, commit ${summary.commit}, ${summary.minutes} minutes, ${summary.machine}`,
    "",
    ...section("faults", Object.entries(summary.faults).map(counted)),
    ...section("points at which processes were stopped or killed", Object.entries(summary.points).map(counted)),
    ...section("faults that are not possible here", summary.impossible),
    ...section("rejections", Object.entries(summary.rejections).map(counted)),
    ...section("events", Object.entries(summary.counts).map(counted)),
    `longest time without a leader: ${summary.longest_gap_ms} ms`,
    "",
    ...section(
      "checkers",
      verdicts.map(({ checker, violations }) => {
        const verdict = violations.length === 0 ? "kept" : `BROKEN ${violations.length} times`;
        return `${checker.name.padEnd(24)} ${verdict.padEnd(20)} ${checker.promise}`;
      }),
    ),
    ...section("missing", summary.missing),
    ...section(
      "violations",
      summary.violations.slice(0, mostViolations).map(({ checker, text }) => `${checker}: ${text}`),
    ),
    verdictOf(summary),
  ].join("\n");
}

function verdictOf({ violations, missing }: Summary): string {
  if (violations.length > 0) return `${violations.length} violations`;
  return missing.length > 0 ? "no violation, and not everything was tried" : "no violation";
}

function counted([name, count]: readonly [string, number]): string {
  return `${name.padEnd(28)} ${String(count).padStart(8)}`;
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [title, ...lines.map((line) => `  ${line}`), ""];
}
