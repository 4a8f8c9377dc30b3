/**
 * What the plots of docs/benchmarks have in common: a card with a title, colours for a light and a dark page, and texts that
 * cannot break the markup. Plain SVG, so that nothing has to be installed to draw them.
 */

export const width = 760;

const style = `
  svg { font: 13px ui-sans-serif, system-ui, "Segoe UI", Helvetica, Arial, sans-serif; }
  .card { fill: #ffffff; stroke: #d0d7de; }
  text { fill: #1f2328; }
  .title { font-size: 16px; font-weight: 600; }
  .quiet { fill: #59636e; font-size: 12px; }
  .grid { stroke: #d8dee4; stroke-width: 1; }
  .ours { fill: #0969da; }
  .missed { fill: #cf222e; }
  .peer { fill: #8c959f; }
  .target { stroke: #1f2328; stroke-width: 2; stroke-dasharray: 3 3; }
  .line { fill: none; stroke-width: 1.6; }
  .first { stroke: #0969da; }
  .second { stroke: #bc4c00; }
  .third { stroke: #1a7f37; }
  .key-first { fill: #0969da; }
  .key-second { fill: #bc4c00; }
  .key-third { fill: #1a7f37; }
  @media (prefers-color-scheme: dark) {
    .card { fill: #0d1117; stroke: #3d444d; }
    text { fill: #f0f6fc; }
    .quiet { fill: #9198a1; }
    .grid { stroke: #30363d; }
    .ours { fill: #4493f8; }
    .missed { fill: #f85149; }
    .peer { fill: #6e7681; }
    .target { stroke: #f0f6fc; }
    .first { stroke: #4493f8; }
    .second { stroke: #f0883e; }
    .third { stroke: #3fb950; }
    .key-first { fill: #4493f8; }
    .key-second { fill: #f0883e; }
    .key-third { fill: #3fb950; }
  }`;

/** A whole drawing. `describe` is what somebody hears who does not see it. */
export function frame({ title, describe, height, content }) {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(describe)}">
<style>${style}
</style>
<rect class="card" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="6"/>
${text(16, 28, title, "title")}
${content.join("\n")}
</svg>
`;
}

export function text(x, y, words, kind = "", anchor = "start") {
  const attributes = [kind && ` class="${kind}"`, anchor !== "start" && ` text-anchor="${anchor}"`].filter(Boolean);
  return `<text x="${round(x)}" y="${round(y)}"${attributes.join("")}>${escaped(words)}</text>`;
}

export function line(x1, y1, x2, y2, kind) {
  return `<line class="${kind}" x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}"/>`;
}

export function round(value) {
  return Math.round(value * 10) / 10;
}

/** As people write numbers: 12.3, 1,234, 0.85. */
export function shown(value) {
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(3)));
}

/** Round numbers from zero to the end of a scale, or powers of ten between two of them. */
export function ticks(from, to, logarithmic) {
  if (logarithmic) {
    const powers = Math.round(Math.log10(to / from));
    return Array.from({ length: powers + 1 }, (_, power) => from * 10 ** power);
  }
  const rough = (to - from) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough) ?? rough;
  const first = Math.ceil(from / step);
  return Array.from({ length: Math.floor(to / step + 1e-9) - first + 1 }, (_, place) => (first + place) * step);
}

function escaped(words) {
  return words.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
