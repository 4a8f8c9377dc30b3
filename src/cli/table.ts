import { oneLine, type Paint, plain, type Tone } from "./paint.js";

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => string;
  readonly tone?: (row: Row) => Tone | null;
  readonly align?: "right";
  /** Never cut: half of it would say something else. */
  readonly whole?: boolean;
  /** Left out first where there is no room. */
  readonly spare?: boolean;
}

export interface TableLook {
  readonly paint?: Paint;
  /** Of the terminal. Without it nothing is cut: another program reads this. */
  readonly width?: number | undefined;
}

const gap = "  ";
const comfortable = 18;
const narrowest = 6;

/** Lines that fit the width, a title above each column. */
export function renderTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { paint = plain, width }: TableLook = {},
): readonly string[] {
  const cells = rows.map((row) => columns.map((column) => oneLine(column.cell(row))));
  const natural = columns.map((column, index) =>
    Math.max(lengthOf(column.title), ...cells.map((line) => lengthOf(line[index] ?? ""))),
  );
  const widths = width === undefined ? natural : narrow(columns, natural, width);
  const shown = columns
    .map((column, index) => ({ column, index, width: widths[index] ?? 0 }))
    .filter((c) => c.width > 0);
  const lineOf = (text: (index: number) => string, tone: (column: Column<Row>) => Tone | null): string => {
    const parts = shown.map(({ column, index, width: room }, position) => {
      const cut = shorten(text(index), room);
      const padding = " ".repeat(Math.max(0, room - lengthOf(cut)));
      const painted = paint(tone(column), cut);
      if (column.align === "right") return padding + painted;
      return position === shown.length - 1 ? painted : painted + padding;
    });
    return parts.join(gap).trimEnd();
  };
  return [
    lineOf(
      (index) => columns[index]?.title ?? "",
      () => "dim",
    ),
    ...rows.map((row, at) =>
      lineOf(
        (index) => cells[at]?.[index] ?? "",
        (column) => column.tone?.(row) ?? null,
      ),
    ),
  ];
}

/** Cuts the widest, then leaves out what can be spared, then cuts harder, then leaves out whatever is on the right. */
function narrow<Row>(columns: readonly Column<Row>[], natural: readonly number[], width: number): readonly number[] {
  const widths = [...natural];
  const total = (): number => {
    const kept = widths.filter((each) => each > 0);
    return kept.reduce((sum, each) => sum + each, 0) + gap.length * Math.max(0, kept.length - 1);
  };
  const cutTo = (least: number): void => {
    while (total() > width) {
      const candidates = widths.flatMap((each, index) =>
        columns[index]?.whole !== true && each > least ? [{ each, index }] : [],
      );
      const widest = candidates.sort((a, b) => b.each - a.each)[0];
      if (widest === undefined) return;
      widths[widest.index] = widest.each - 1;
    }
  };
  const leaveOut = (may: (column: Column<Row> | undefined) => boolean): void => {
    for (let last = widths.length - 1; last > 0 && total() > width; last -= 1) if (may(columns[last])) widths[last] = 0;
  };
  cutTo(comfortable);
  leaveOut((column) => column?.spare === true);
  cutTo(narrowest);
  leaveOut(() => true);
  if (total() > width) widths[0] = width;
  return widths;
}

const segmenter = new Intl.Segmenter("en");
const wide =
  /[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\p{Emoji_Presentation}\uff01-\uff60]/u;

/** Characters as a person counts them, each with the columns that a terminal gives it. */
function charactersOf(text: string): readonly { readonly character: string; readonly width: number }[] {
  return Array.from(segmenter.segment(text), ({ segment }) => ({
    character: segment,
    width: wide.test(segment) ? 2 : 1,
  }));
}

export function lengthOf(text: string): number {
  return charactersOf(text).reduce((sum, { width }) => sum + width, 0);
}

/** Cut with an ellipsis where it is too long. */
export function shorten(text: string, width: number): string {
  if (lengthOf(text) <= width) return text;
  let room = width - 1;
  let kept = "";
  for (const each of charactersOf(text)) {
    room -= each.width;
    if (room < 0) break;
    kept += each.character;
  }
  return width <= 0 ? "" : `${kept}…`;
}
