/**
 * A terminal's screen over time as one SVG that plays in a page without scripts. What is drawn are runs: a line of the screen, for as
 * long as it reads the same.
 */
const charWidth = 8.43;
const lineHeight = 20;
const margin = 16;
const colours = { 31: "#ff7b72", 32: "#3fb950", 33: "#d29922" };

/**
 * @typedef {{ readonly at: number, readonly lines: readonly string[] }} Frame A screen, and since when it was seen, in seconds.
 * @typedef {{ readonly row: number, readonly text: string, readonly from: number, readonly to: number }} Run
 */

/** @param {readonly Frame[]} frames @param {number} seconds @returns {Run[]} */
export function runsOf(frames, seconds) {
  const runs = [];
  const rows = Math.max(...frames.map(({ lines }) => lines.length));
  for (let row = 0; row < rows; row += 1) {
    let open = null;
    for (const { at, lines } of frames) {
      const text = lines[row] ?? "";
      if (text === open?.text) continue;
      if (open !== null) runs.push({ ...open, to: at });
      open = { row, text, from: at };
    }
    runs.push({ ...open, to: seconds });
  }
  return runs.filter(({ text, from, to }) => text !== "" && to > from);
}

/** @param {readonly Frame[]} frames @param {{ columns: number, seconds: number, title: string }} look @returns {string} */
export function animatedScreen(frames, { columns, seconds, title }) {
  const runs = runsOf(frames, seconds);
  const rows = Math.max(...runs.map(({ row }) => row)) + 1;
  const [width, height] = [Math.round(columns * charWidth) + 2 * margin, rows * lineHeight + 2 * margin];
  const percent = (at) => `${Number(((at / seconds) * 100).toFixed(3))}%`;
  const keyframes = ({ from, to }, index) => {
    const before = from === 0 ? "" : `0%{opacity:0}`;
    const after = to >= seconds ? "" : `${percent(to)}{opacity:0}`;
    return `@keyframes r${index}{${before}${percent(from)}{opacity:1}${after}}.r${index}{animation:r${index} ${seconds}s step-end infinite}`;
  };
  const moving = (run) => run.from > 0 || run.to < seconds;
  // Where nothing shall move, the last screen stands.
  const still = runs.map((run, index) => (moving(run) && run.to < seconds ? `.r${index}{display:none}` : "")).join("");
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">`,
    `<title>${escaped(title)}</title>`,
    "<style>",
    "text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#e6edf3;white-space:pre}",
    ".dim{fill:#8b949e}.strong{font-weight:700}",
    "@media (prefers-reduced-motion:no-preference){",
    ...runs.map((run, index) => (moving(run) ? keyframes(run, index) : "")).filter((rule) => rule !== ""),
    `}@media (prefers-reduced-motion:reduce){${still}}`,
    "</style>",
    `<rect width="${width}" height="${height}" rx="8" fill="#0d1117"/>`,
    ...runs.map((run, index) => {
      const y = margin + run.row * lineHeight + 14;
      const spans = spansOf(run.text).map((span) => drawn(span));
      return `<text${moving(run) ? ` class="r${index}"` : ""} y="${y}">${spans.join("")}</text>`;
    }),
    "</svg>\n",
  ].join("\n");
}

/** The pieces of a line that have one colour each, and the column at which each begins. */
function spansOf(line) {
  const spans = [];
  let column = 0;
  for (const [index, piece] of line.split("\u001b[").entries()) {
    // Each piece but the first begins with what is left of the command before it.
    const [, style = "", text = ""] = index === 0 ? ["", "", piece] : (piece.match(/^(\d*)m(.*)$/) ?? []);
    spans.push({ style, column, text });
    column += [...text].length;
  }
  return spans.filter(({ text }) => text.trim() !== "");
}

function drawn({ style, column, text }) {
  const look =
    { 1: ' class="strong"', 2: ' class="dim"' }[style] ?? (style in colours ? ` style="fill:${colours[style]}"` : "");
  const [x, length] = [margin + column * charWidth, [...text].length * charWidth];
  return `<tspan x="${x.toFixed(2)}" textLength="${length.toFixed(2)}" lengthAdjust="spacingAndGlyphs"${look}>${escaped(text)}</tspan>`;
}

function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
