/**
 * A text area turns every line end into LF, and shows no control characters. A body that is to be edited goes through it
 * without a loss all the same: its own line ends become those of the area, and what the area would change or hide is
 * written as the picture that Unicode has for it, and read back from that.
 */
export type Editable =
  | { readonly kind: "editable"; readonly text: string; readonly lineEnd: LineEnd }
  | { readonly kind: "not_editable"; readonly why: string };

export type LineEnd = "\r" | "\n" | "\r\n";

const pictures = /[\u2400-\u241f\u2421]/g;
const controls = /\p{Cc}/gu;

/** A tab is as good as its picture in an area, and those above DEL have none. */
function pictureOf(char: string): string {
  const code = char.charCodeAt(0);
  if (code === 0x7f) return "\u2421";
  return char === "\t" || code > 0x7f ? char : String.fromCharCode(0x2400 + code);
}

const controlOf = (picture: string): string =>
  picture === "\u2421" ? "\x7f" : String.fromCharCode(picture.charCodeAt(0) - 0x2400);

export function toEditable(body: string): Editable {
  if (body.search(pictures) !== -1) {
    const why = "It holds pictures of control characters, which stand for those themselves while a message is edited.";
    return { kind: "not_editable", why };
  }
  const lineEnd = mainLineEnd(body);
  // One line end is the area's own. Of the others, each character is shown.
  const lines = body.split(lineEnd).map((line) => line.replaceAll(controls, pictureOf));
  return { kind: "editable", text: lines.join("\n"), lineEnd };
}

export function fromEditable(text: string, lineEnd: LineEnd): string {
  const plain = text.replaceAll("\r\n", "\n").replaceAll("\r", "\n");
  return plain
    .split("\n")
    .map((line) => line.replaceAll(pictures, controlOf))
    .join(lineEnd);
}

/** The one that ends most lines; CR where there is none, as HL7 has it. */
function mainLineEnd(body: string): LineEnd {
  const counts: Record<LineEnd, number> = { "\r": 0, "\n": 0, "\r\n": 0 };
  for (const [end] of body.matchAll(/\r\n|\r|\n/g)) counts[end as LineEnd] += 1;
  const most = (Object.entries(counts) as [LineEnd, number][]).sort(([, one], [, other]) => other - one)[0];
  return most === undefined || most[1] === 0 ? "\r" : most[0];
}
