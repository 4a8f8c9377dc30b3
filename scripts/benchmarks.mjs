/**
 * `node scripts/benchmarks.mjs`: writes docs/benchmarks.md, its plots and the figures in README.md from docs/benchmarks/results.json, which
 * `npm run bench -- all --out` writes, and docs/benchmarks/soak.json, which `npm run bench -- soak --out` writes.
 *
 * test/tidy/benchmarks.test.ts renders the same and fails when a file differs.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { barPlot } from "./bar-plot.mjs";
import { benchmarkPlots, soakPanels } from "./benchmark-plots.mjs";
import { withFigures } from "./benchmark-summary.mjs";
import { curvePlot } from "./curve-plot.mjs";
import { markdownTable } from "./markdown-table.mjs";
import { shown } from "./plot-frame.mjs";

const note =
  "<!-- Written by scripts/benchmarks.mjs from docs/benchmarks/*.json. Measure again, then run it again. -->";

/** Every file by its path, from the reports of the benches and of the soak, and the README that is there. */
export function renderBenchmarks({ results: report, soak, readme }) {
  const measured = new Set(report.results.map(({ bench }) => bench));
  const failed = new Set(report.errors.map(({ bench }) => bench));
  const benches = Object.keys(benchmarkPlots).filter((bench) => measured.has(bench) || failed.has(bench));
  const drawn = benches.filter((bench) => measured.has(bench));
  const plots = drawn.map((bench) => [`docs/benchmarks/${bench}.svg`, plotOf(bench, report.results)]);
  return {
    "docs/benchmarks.md": page(report, soak, benches),
    "README.md": withFigures(readme, report),
    ...Object.fromEntries(plots),
    ...(soak.curves === undefined ? {} : { "docs/benchmarks/soak.svg": soakPlot(soak) }),
  };
}

function page(report, soak, benches) {
  const judged = [...report.results, ...soak.results].filter(({ target }) => target !== "reported");
  const missed = judged.filter(({ met }) => !met);
  const sections = benches.map((bench) => section(bench, report));
  return `${note}

# Benchmarks

What Holdfast claims, measured beside its peers on one machine in one run. ${verdict(judged, missed, [...report.errors, ...soak.errors])}

${missed.length === 0 ? "" : `${markdownTable(["NOT met", "value", "unit", "target", "beside"], missed.map(shortRow))}\n\n`}## The machine

${runLine("All benches", report)}

${runLine("The soak", soak)}

Absolute times belong to a machine. What is compared was measured in the same run, in turns; ratios are what should hold
elsewhere. What each figure means, and what is done to keep the comparisons fair, stands in [the benches](../bench/README.md).

## To repeat it

\`\`\`sh
npm ci
npm run bench -- all --out docs/benchmarks/results.json
npm run bench -- soak --out docs/benchmarks/soak.json
node scripts/benchmarks.mjs
\`\`\`

The first takes some 50 minutes on two processors, and the second 35. As root on Debian the benches install etcd; elsewhere it has
to be there. A single bench runs by its name: \`npm run bench -- failover\`. Nothing else should run on the machine meanwhile.

${sections.join("\n\n")}

${soakSection(soak)}
`;
}

function verdict(judged, missed, errors) {
  const failed = errors.length === 0 ? "" : ` ${errors.length} of the benches did not come to their end.`;
  const met = judged.length - missed.length;
  if (missed.length === 0) return `All ${judged.length} targets are met.${failed}`;
  return `Targets: ${judged.length}, met: ${met}, NOT met: ${missed.length}, which are listed here.${failed}`;
}

function runLine(what, { machine, at, commit, trial, seconds }) {
  const code = commit === null ? "" : `, commit \`${commit}\``;
  const line = `${what}: ${machine}; ${at.slice(0, 10)}${code}; ${Math.round(seconds / 60)} min.`;
  if (trial === null) return line;
  const asked = Object.entries(trial).filter(([, count]) => count !== null);
  const words = asked.map(([name, count]) => `\`--${name} ${count}\``).join(" ");
  return `${line} **This was a trial with ${words}, to see that everything runs: its figures are no measurement.**`;
}

function section(bench, { results, errors }) {
  const { title, says } = benchmarkPlots[bench];
  const own = results.filter((result) => result.bench === bench);
  const figures = own.length === 0 ? [] : [`![${title}](benchmarks/${bench}.svg)`, says, resultTable(own)];
  const failures = errorLines(errors.filter((error) => error.bench === bench));
  return [`## ${bench}`, ...figures, ...failures].join("\n\n");
}

function soakSection({ results, errors, curves }) {
  const figures = [
    "![Memory, open things, dead rows and latencies over the time of the soak](benchmarks/soak.svg)",
    `Three whole nodes under a queue, jobs and an MLLP feed, each at half of its third of what it reached alone. The dashed line is
the end of the warm-up, which counts for nothing.`,
    resultTable(results),
  ];
  return ["## soak", ...(curves === undefined ? [] : figures), ...errorLines(errors)].join("\n\n");
}

function errorLines(errors) {
  return errors.map(({ message }) => `It did not come to its end: \`${message.replaceAll("`", "'")}\``);
}

function resultTable(results) {
  return markdownTable(
    ["figure", "value", "unit", "target", "met", "beside"],
    results.map((result) => {
      const { name, value, unit, target, met, peer = "" } = result;
      return [
        `\`${name}\``,
        shown(value),
        unit,
        target,
        target === "reported" ? "" : met ? "yes" : "**NOT met**",
        peer,
      ];
    }),
  );
}

function shortRow({ name, value, unit, target, peer = "" }) {
  return [`\`${name}\``, shown(value), unit, target, peer];
}

function plotOf(bench, results) {
  const own = new Map(results.filter((result) => result.bench === bench).map((result) => [result.name, result]));
  const { title, panels } = benchmarkPlots[bench];
  const drawn = panels.map(({ bars, ...panel }) => ({ ...panel, bars: bars.flatMap((bar) => barOf(bar, own)) }));
  return barPlot({ title, panels: drawn.filter(({ bars }) => bars.length > 0) });
}

function barOf({ figure, label, peer = false, factor = 1, count }, own) {
  const result = own.get(figure);
  if (result === undefined) return [];
  const words = count === undefined ? label : `${label} (${shown(own.get(count)?.value ?? 0)})`;
  const limit = (text) => String(Number(text) * factor);
  const target = result.target === "reported" ? "" : result.target.replace(/[\d.]+$/, limit);
  return [{ label: words, value: result.value * factor, peer, target, met: result.met }];
}

function soakPlot({ results, curves }) {
  const figure = (name) => results.find((result) => result.name === name)?.value ?? 0;
  const panels = soakPanels.map(({ curves: wanted, ...panel }) => ({
    ...panel,
    curves: Object.entries(wanted).flatMap(([name, label]) => {
      const points = curves[name] ?? [];
      return points.length === 0 ? [] : [{ label, points }];
    }),
  }));
  return curvePlot({
    title: "At half of the highest rate",
    minutes: figure("soak_minutes"),
    warmUpMinutes: figure("soak_warm_up"),
    panels: panels.filter((panel) => panel.curves.length > 0),
  });
}

function write() {
  const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
  const read = (name) => JSON.parse(readFileSync(join(root, "docs/benchmarks", name), "utf8"));
  const readme = readFileSync(join(root, "README.md"), "utf8");
  const files = renderBenchmarks({ results: read("results.json"), soak: read("soak.json"), readme });
  for (const [path, text] of Object.entries(files)) writeFileSync(join(root, path), text);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) write();
