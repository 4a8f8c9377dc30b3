/** Padded as Biome pads them, so that a page which was just written passes the check. */
export function markdownTable(head, rows) {
  const lines = [head, ...rows].map((cells) => cells.map((cell) => String(cell).replaceAll("|", "\\|")));
  const widths = head.map((_, column) => Math.max(3, ...lines.map((cells) => cells[column].length)));
  const line = (cells) => `| ${cells.map((cell, column) => cell.padEnd(widths[column])).join(" | ")} |`;
  const [first, ...others] = lines.map(line);
  return [first, line(widths.map((width) => "-".repeat(width))), ...others].join("\n");
}
