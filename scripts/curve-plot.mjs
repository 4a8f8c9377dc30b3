/** Curves over time, in panels below each other. */
import { frame, line, round, shown, text, ticks, width } from "./plot-frame.mjs";

const left = 70;
const right = 24;
const panelHeight = 130;
const headHeight = 34;
const footHeight = 30;
const kinds = ["first", "second", "third"];

/** `panels` are `{ heading, unit, curves }`, and curves `{ label, points: [minute, value][] }`. Values count from zero. */
export function curvePlot({ title, minutes, warmUpMinutes, panels }) {
  let top = 40;
  const content = [];
  for (const panel of panels) {
    content.push(...drawPanel(panel, top, minutes, warmUpMinutes));
    top += headHeight + panelHeight + footHeight;
  }
  const describe = panels.map(({ heading, curves }) => `${heading}: ${curves.map(summaryOf).join(", ")}`);
  return frame({ title, describe: `${title}. ${describe.join(". ")}.`, height: top, content });
}

function summaryOf({ label, points }) {
  const [, first = 0] = points[0] ?? [];
  const [, last = 0] = points.at(-1) ?? [];
  return `${label} from ${shown(first)} to ${shown(last)}`;
}

function drawPanel({ heading, unit, curves }, top, minutes, warmUpMinutes) {
  const from = top + headHeight;
  const end = from + panelHeight;
  const most = Math.max(...curves.flatMap(({ points }) => points.map(([, value]) => value)), 1e-9) * 1.1;
  const x = (minute) => left + (minute / minutes) * (width - left - right);
  const y = (value) => end - (Math.min(value, most) / most) * panelHeight;
  const rows = ticks(0, most, false).flatMap((tick) => [
    line(left, y(tick), width - right, y(tick), "grid"),
    text(left - 8, y(tick) + 4, shown(tick), "quiet", "end"),
  ]);
  const columns = ticks(0, minutes, false).map((tick) =>
    text(x(tick), end + 16, `${shown(tick)} min`, "quiet", "middle"),
  );
  return [
    text(16, top + 18, `${heading} (${unit})`, "quiet"),
    ...keyOf(curves, top),
    ...rows,
    ...columns,
    line(x(warmUpMinutes), from, x(warmUpMinutes), end, "target"),
    ...curves.map(({ points }, place) => {
      const path = points.map(([minute, value]) => `${round(x(minute))},${round(y(value))}`).join(" ");
      return `<polyline class="line ${kinds[place]}" points="${path}"/>`;
    }),
  ];
}

/** Names the curves at the right, above their panel. */
function keyOf(curves, top) {
  let x = width - right;
  return curves
    .map(({ label }, place) => ({ label, kind: kinds[place] }))
    .reverse()
    .flatMap(({ label, kind }) => {
      const parts = [text(x, top + 18, label, "quiet", "end")];
      x -= label.length * 6.3 + 6;
      parts.push(`<rect class="key-${kind}" x="${round(x - 12)}" y="${top + 9}" width="12" height="10" rx="2"/>`);
      x -= 28;
      return parts;
    });
}
