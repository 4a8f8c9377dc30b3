const escapes: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** A text as a part of a page, within elements and attributes. */
export function text(value: unknown): string {
  return String(value).replace(/[&<>"]/g, (character) => escapes[character] ?? character);
}

/** A table with a heading of its own; cells are texts, but for those that are markup already. */
export function table(heads: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const head = heads.map((one) => `<th scope="col">${text(one)}</th>`).join("");
  const body = rows.map((row) => `<tr>${row.map((cell) => `<td>${contentOf(cell)}</td>`).join("")}</tr>`).join("\n");
  return `<table>\n<thead><tr>${head}</tr></thead>\n<tbody>\n${body}\n</tbody>\n</table>`;
}

export type Cell = string | number | { readonly markup: string };

function contentOf(cell: Cell): string {
  return typeof cell === "object" ? cell.markup : text(cell);
}
