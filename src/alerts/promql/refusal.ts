/** Why a condition is not taken, and where in its text. The message is one line without a full stop. */
export class Refusal extends Error {
  readonly at: number;

  constructor(at: number, reason: string) {
    super(reason);
    this.at = at;
  }
}

/** The line that holds the place, and below it a `^` that points there. */
export function marked(text: string, at: number): string {
  const start = text.lastIndexOf("\n", at - 1) + 1;
  const [line = ""] = text.slice(start).split("\n");
  // Tabs stay, so that the mark stands below its place however wide they are shown.
  const indent = Array.from(line.slice(0, at - start), (character) => (character === "\t" ? "\t" : " ")).join("");
  return `${line}\n${indent}^`;
}
