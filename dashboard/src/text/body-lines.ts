import { type Piece, piecesOf } from "./visible.js";

/** A body as lines to look at. HL7 ends its segments by CR alone, so that every line end breaks here, and none is lost. */
export interface BodyLine {
  readonly text: string;
  readonly pieces: readonly Piece[];
}

export interface BodyLines {
  readonly lines: readonly BodyLine[];
  /** How lines end; "mixed" where they do not all end alike, and then each end is shown. */
  readonly lineEnd: "CR" | "LF" | "CRLF" | "mixed" | "none";
  /** How many characters are not shown. */
  readonly left: number;
}

/** What a browser lays out without a pause. */
const mostShown = { characters: 200_000, lines: 5_000 } as const;

const ends = { "\r\n": "CRLF", "\r": "CR", "\n": "LF" } as const;
type End = keyof typeof ends;

export function linesOf(text: string, limits: { characters: number; lines: number } = mostShown): BodyLines {
  const shown = text.slice(0, limits.characters);
  const parts = shown.split(/(\r\n|\r|\n)/);
  const kinds = new Set(parts.filter((_, index) => index % 2 === 1).map((end) => ends[end as End]));
  const lineEnd = kinds.size > 1 ? "mixed" : ([...kinds][0] ?? "none");
  const lines: BodyLine[] = [];
  let taken = 0;
  for (let index = 0; index < parts.length && lines.length < limits.lines; index += 2) {
    const line = parts[index] ?? "";
    const end = parts[index + 1] ?? "";
    taken += line.length + end.length;
    // What follows the last line end is a line only where something is in it.
    if (line === "" && end === "" && lines.length > 0) break;
    lines.push({ text: line, pieces: [...piecesOf(line), ...(lineEnd === "mixed" ? piecesOf(end) : [])] });
  }
  return { lines, lineEnd, left: text.length - taken };
}
