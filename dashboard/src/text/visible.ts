/**
 * Text that came from outside, made safe to look at. A page that writes text as text is safe from markup, and still not from
 * characters that show nothing, turn the reading direction around, or end a line: those are shown by their names.
 */
export interface Piece {
  readonly kind: "text" | "mark";
  readonly text: string;
  /** What a mark stands for. */
  readonly title?: string;
}

/** Controls, formats (direction, zero width, joiners), line ends, halves of characters, and letters that are blank. */
const hidden = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]/gu;

/** Beyond so many marks in one text they are written into it, and not each as an element of its own. */
const mostMarks = 2_000;

const controlNames =
  "NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US";
const names = controlNames.split(" ");

const codeOf = (char: string): number => char.codePointAt(0) ?? 0;
const hexOf = (code: number): string => `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;

/** Controls by their names, since few fonts have pictures of them; the others by their numbers. */
function markOf(char: string): Piece {
  const code = codeOf(char);
  const name = code === 0x7f ? "DEL" : names[code];
  const hex = hexOf(code);
  if (name === undefined) return { kind: "mark", text: hex, title: "A character that is not seen" };
  return { kind: "mark", text: name, title: `A control character (${hex})` };
}

export function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(hidden)) {
    if (pieces.length >= mostMarks) break;
    if (match.index > from) pieces.push({ kind: "text", text: text.slice(from, match.index) });
    pieces.push(markOf(match[0]));
    from = match.index + match[0].length;
  }
  if (from < text.length) pieces.push({ kind: "text", text: visible(text.slice(from)) });
  return pieces;
}

/** The same in one string, for names in sentences, titles and labels. */
export function visible(text: string): string {
  return text.replaceAll(hidden, (char) => `⟨${markOf(char).text}⟩`);
}

const codes = new Map([...names.map((name, code) => [name, code] as const), ["DEL", 0x7f] as const]);
const written = new RegExp(`⟨(${[...codes.keys()].join("|")}|U\\+[0-9A-F]{4,6})⟩`, "g");

/** What `visible` has written, as it was. A text that holds such a word itself cannot be told from one that holds the character. */
export function fromVisible(text: string): string {
  return text.replaceAll(written, (_, word: string) =>
    String.fromCodePoint(codes.get(word) ?? Math.min(0x10ffff, Number.parseInt(word.slice(2), 16))),
  );
}

export function holdsWords(text: string): boolean {
  return text.search(written) !== -1;
}
