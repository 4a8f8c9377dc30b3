import { gapsOf, lengthOf } from "../checkers/leaderless.js";
import type { HistoryEvent } from "../history.js";
import type { Verdict } from "../judgement.js";
import { type Cell, table, text } from "./markup.js";
import { reportStyle } from "./report-style.js";
import { beginOf, rolesOf, timeline } from "./timeline.js";

const mostViolations = 200;
const longestGaps = 10;

/** One page that needs nothing else: the run as a picture, what happened in it, and the judgement. */
export function renderReport(history: readonly HistoryEvent[], verdicts: readonly Verdict[]): string {
  const violations = verdicts.flatMap((verdict) => verdict.violations).toSorted((one, other) => one.at - other.at);
  const begin = beginOf(history);
  const run = history.find((event) => event.kind === "run");
  const judged =
    violations.length === 0 ? "no violation" : `${violations.length} violation${violations.length === 1 ? "" : "s"}`;
  const title = `Torture, seed ${run?.seed ?? "unknown"}: ${judged}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${text(title)}</title>
<style>${reportStyle}</style>
</head>
<body>
<h1>Torture, seed ${text(run?.seed ?? "unknown")}: <span class="${violations.length === 0 ? "good" : "bad"}">${judged}</span></h1>
<p class="quiet">Commit ${text(run?.commit ?? "unknown")}, ${text(run?.minutes ?? "?")} minutes, ${history.length} events. A row is a place; a bar in it is a role that was led there. Point at anything to read what it is.</p>
<p>${keyOf(rolesOf(history))}</p>
<div class="scroll">
${timeline(history, violations)}
</div>
<h2>The judgement</h2>
${table(["checker", "what it demands", "verdict"], verdicts.map(verdictRow))}
${
  violations.length === 0
    ? ""
    : `<h2>Violations</h2>\n${table(
        ["second", "checker", "what was seen"],
        violations.slice(0, mostViolations).map(({ at, checker, text: told }) => [secondsOf(at, begin), checker, told]),
      )}`
}
<div class="tables">
<section><h2>Faults</h2>${table(["fault", "times"], countRows(faultCounts(history), run?.faults ?? []))}</section>
<section><h2>Refusals</h2>${table(["code", "times"], countRows(rejectionCounts(history), []))}</section>
<section><h2>Longest without a leader</h2>${table(["role", "second", "ms", "of these unexcused"], gapRows(history, begin))}</section>
<section><h2>Events</h2>${table(
    ["kind", "lines"],
    countRows(
      countBy(history, ({ kind }) => kind),
      [],
    ),
  )}</section>
</div>
</body>
</html>
`;
}

function keyOf(roles: readonly string[]): string {
  return roles.map((role, index) => `<span class="key role${index % 8}"></span>${text(role)}`).join("");
}

function verdictRow({ checker, violations }: Verdict): readonly Cell[] {
  const markup =
    violations.length === 0
      ? '<span class="good">kept</span>'
      : `<span class="bad">broken ${violations.length} times</span>`;
  return [checker.name, checker.promise, { markup }];
}

/** Those that were asked for and never happened are shown as such. */
function countRows(counts: ReadonlyMap<string, number>, wanted: readonly string[]): readonly (readonly Cell[])[] {
  const names = [...new Set([...counts.keys(), ...wanted])].toSorted();
  return names.map((name) => [name, counts.get(name) ?? { markup: '<span class="bad">never</span>' }]);
}

function faultCounts(history: readonly HistoryEvent[]): ReadonlyMap<string, number> {
  const begun = history.filter((event) => event.kind === "fault" && event.phase === "begin");
  return countBy(begun, (event) => (event.kind === "fault" ? event.fault : ""));
}

function rejectionCounts(history: readonly HistoryEvent[]): ReadonlyMap<string, number> {
  return countBy(
    history.filter((event) => event.kind === "rejection"),
    ({ code }) => code,
  );
}

function countBy<Item>(items: readonly Item[], nameOf: (item: Item) => string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(nameOf(item), (counts.get(nameOf(item)) ?? 0) + 1);
  return counts;
}

function gapRows(history: readonly HistoryEvent[], begin: number): readonly (readonly Cell[])[] {
  return gapsOf(history)
    .toSorted((one, other) => lengthOf(other) - lengthOf(one))
    .slice(0, longestGaps)
    .map((gap) => [gap.role, secondsOf(gap.from, begin), lengthOf(gap).toFixed(0), lengthOf(gap.unexcused).toFixed(0)]);
}

function secondsOf(at: number, begin: number): string {
  return ((at - begin) / 1_000).toFixed(3);
}
