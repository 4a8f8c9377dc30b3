/** Horizontal bars: ours beside those of others, each with its value, and with its target where it has one. */
import { frame, line, round, shown, text, ticks, width } from "./plot-frame.mjs";

const labels = 270;
const values = 120;
const plotWidth = width - labels - values - 16;
const barHeight = 18;
const rowHeight = 26;
const headHeight = 52;
const footHeight = 34;

/** `panels` are `{ heading, unit, logarithmic, bars }`, and bars `{ label, value, peer, target, met }`. */
export function barPlot({ title, panels }) {
  let top = 40;
  const content = [];
  for (const panel of panels) {
    content.push(...drawPanel(panel, top));
    top += headHeight + panel.bars.length * rowHeight + footHeight;
  }
  const describe = panels.map(
    ({ heading, unit, bars }) =>
      `${heading}: ${bars.map(({ label, value }) => `${label} ${shown(value)} ${unit}`).join(", ")}`,
  );
  return frame({ title, describe: `${title}. ${describe.join(". ")}.`, height: top, content });
}

function drawPanel({ heading, unit, logarithmic = false, bars }, top) {
  const scale = scaleOf(bars, logarithmic);
  const first = top + headHeight - 18;
  const end = first + bars.length * rowHeight;
  const grid = ticks(scale.from, scale.to, logarithmic).flatMap((tick) => [
    line(scale.at(tick), first - 4, scale.at(tick), end, "grid"),
    text(scale.at(tick), end + 15, shown(tick), "quiet", "middle"),
  ]);
  const words = `${heading} (${unit}${logarithmic ? ", logarithmic" : ""})`;
  return [
    text(16, top + 14, words, "quiet"),
    ...grid,
    ...bars.flatMap((bar, row) => drawBar(bar, first + row * rowHeight, scale)),
  ];
}

function drawBar({ label, value, peer = false, target = "", met = true }, top, scale) {
  const kind = peer ? "peer" : met ? "ours" : "missed";
  const length = Math.max(1.5, scale.at(value) - labels);
  const middle = top + barHeight / 2 + 5;
  const remark = met ? "" : ` NOT met (${target})`;
  const parts = [
    text(labels - 8, middle, label, "", "end"),
    `<rect class="${kind}" x="${labels}" y="${round(top)}" width="${round(length)}" height="${barHeight}" rx="2"/>`,
    text(labels + length + 6, middle, `${shown(value)}${remark}`, ""),
  ];
  if (target !== "") {
    const x = scale.at(Number(target.replace(/^[<>]= /, "")));
    parts.push(line(x, top - 2, x, top + barHeight + 2, "target"));
  }
  return parts;
}

function scaleOf(bars, logarithmic) {
  const limits = bars.flatMap(({ target }) => (target ? [Number(target.replace(/^[<>]= /, ""))] : []));
  const all = [...bars.map(({ value }) => value), ...limits].filter((value) => value > 0);
  const most = Math.max(...all, 1e-9);
  if (!logarithmic) {
    const to = most * 1.05;
    return { from: 0, to, at: (value) => labels + (Math.max(0, Math.min(value, to)) / to) * plotWidth };
  }
  // The shortest bar still has some length.
  const from = 10 ** Math.floor(Math.log10(Math.min(...all) * 0.7));
  const to = 10 ** Math.ceil(Math.log10(most) + 1e-9);
  const share = (value) => Math.log10(Math.max(value, from) / from) / Math.log10(to / from);
  return { from, to, at: (value) => labels + share(value) * plotWidth };
}
