import { readFileSync } from "node:fs";

/** A fenced block of a document that a marker names, to be run, or written to a file, as it is printed. */
export interface Snippet {
  readonly name: string;
  /** As it stands behind the fence: js, ts, sh, toml and so on. */
  readonly language: string;
  readonly text: string;
  /** Of the opening fence, counted from 1. */
  readonly line: number;
}

/** A fenced block with the name that its marker gives it, if it has one. */
export interface FencedBlock extends Omit<Snippet, "name"> {
  readonly name: string | undefined;
}

const marker = /^\s*<!-- (?:run|file): (\S+) -->\s*$/;
const fence = /^( *)(`{3,}|~{3,})\s*([\w-]*).*$/;

/**
 * The blocks of a Markdown file that stand behind a marker, `<!-- run: name -->` or `<!-- file: holdfast.toml -->`, on a line of its
 * own. A marker without a block, or a name that is given twice, is an error: what nobody runs would otherwise look as if it were run.
 */
export function snippets(path: string): readonly Snippet[] {
  const named = fencedBlocks(path).filter((block): block is Snippet => block.name !== undefined);
  const twice = named.find(({ name }, index) => named.findIndex((other) => other.name === name) < index);
  if (twice !== undefined) throw new Error(`${path}:${twice.line} is the second block with the name ${twice.name}`);
  return named;
}

/** The one with this name. */
export function snippet(path: string, name: string): Snippet {
  const all = snippets(path);
  const found = all.find((one) => one.name === name);
  if (found === undefined) {
    throw new Error(`${path} has no block with the name ${name}, but ${all.map((one) => one.name).join(", ")}`);
  }
  return found;
}

/** All fenced blocks in their order, with and without a marker, so that a test can say which of them may go without. */
export function fencedBlocks(path: string): readonly FencedBlock[] {
  const lines = readFileSync(path, "utf8").split("\n");
  const blocks: FencedBlock[] = [];
  let name: { readonly text: string; readonly line: number } | undefined;
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] ?? "";
    const marked = line.match(marker)?.[1];
    const opened = line.match(fence);
    if (opened !== null) {
      const end = closingLine(lines, index, opened[2] ?? "```");
      if (end === undefined) throw new Error(`${path}:${index + 1} opens a block that nothing closes`);
      const text = lines.slice(index + 1, end).map((one) => unindented(one, opened[1]?.length ?? 0));
      blocks.push({ name: name?.text, language: opened[3] ?? "", text: `${text.join("\n")}\n`, line: index + 1 });
      index = end;
      name = undefined;
    } else if (name !== undefined && line.trim() !== "") {
      throw new Error(`${path}:${name.line} names a block, and none follows`);
    } else if (marked !== undefined) {
      name = { text: marked, line: index + 1 };
    }
  }
  if (name !== undefined) throw new Error(`${path}:${name.line} names a block, and none follows`);
  return blocks;
}

function closingLine(lines: readonly string[], opening: number, mark: string): number | undefined {
  const closes = new RegExp(`^ *\\${mark[0]}{${mark.length},}\\s*$`);
  const found = lines.findIndex((line, index) => index > opening && closes.test(line));
  return found === -1 ? undefined : found;
}

/** A block within a list is indented as a whole, which is no part of it. */
function unindented(line: string, by: number): string {
  return line.slice(Math.min(by, line.length - line.trimStart().length));
}
