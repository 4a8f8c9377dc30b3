import { fromVisible, holdsWords, visible } from "./visible.js";

/**
 * A text area turns every line end into LF, and shows neither control characters nor those that turn the reading direction
 * around. A body that is to be edited goes through it without a loss all the same: its own line ends become those of the
 * area, and what is not seen is written by its name, and read back from that.
 */
export type Editable =
  | { readonly kind: "editable"; readonly text: string; readonly lineEnd: LineEnd }
  | { readonly kind: "not_editable"; readonly why: string };

export type LineEnd = "\r" | "\n" | "\r\n";

export function toEditable(body: string): Editable {
  if (holdsWords(body)) {
    return {
      kind: "not_editable",
      why: "It holds words like ⟨CR⟩, which stand for characters while a message is edited.",
    };
  }
  const lineEnd = mainLineEnd(body);
  return { kind: "editable", text: body.split(lineEnd).map(shown).join("\n"), lineEnd };
}

export function fromEditable(text: string, lineEnd: LineEnd): string {
  return text
    .split(/\r\n|\r|\n/)
    .map(fromVisible)
    .join(lineEnd);
}

/** A tab is as good as its name in an area. */
const shown = (line: string): string => line.split("\t").map(visible).join("\t");

/** The one that ends most lines; CR where there is none, as HL7 has it. */
function mainLineEnd(body: string): LineEnd {
  const counts: Record<LineEnd, number> = { "\r": 0, "\n": 0, "\r\n": 0 };
  for (const [end] of body.matchAll(/\r\n|\r|\n/g)) counts[end as LineEnd] += 1;
  const most = (Object.entries(counts) as [LineEnd, number][]).sort(([, one], [, other]) => other - one)[0];
  return most === undefined || most[1] === 0 ? "\r" : most[0];
}
