import type { FencedBlock } from "../support/snippets.js";
import type { Violation } from "./source-tree.js";

/** What only shows how something looks carries no language, and needs nobody to run it. */
const shown = ["", "text"];
const quoted = '"[^"\\n]+"';
/** Calls that run a block or hand its text out: those of a Guide and of `blocksOf`, and what tests wrap around them or go through. */
const calls = "run|start|attempt|writeShown|block|follow|elsewhere|each|for";
const named = new RegExp(`\\b(?:${calls})\\(\\s*\\[?((?:\\s*${quoted}\\s*,?)+)`, "g");
/** A name that such a call, or a loop, is given in place of the blocks' own. */
const given = new RegExp(`(?:\\b(?:${calls})\\(| of )(\\w+)\\)`, "g");
/** What the table of a test that goes through libraries has for each of them. */
const ofTable = new RegExp(`\\bfile: (${quoted})`, "g");

function namesRun(test: string): readonly string[] {
  const stated = [...test.matchAll(given)].flatMap(([, name]) => [
    ...test.matchAll(new RegExp(`\\bconst ${name} = ([^;]+);`, "g")),
  ]);
  const found = [...test.matchAll(named), ...test.matchAll(ofTable), ...stated].map(([, names = ""]) => names);
  return found.flatMap((names) => names.match(new RegExp(quoted, "g")) ?? []).map((name) => name.slice(1, -1));
}

/** The blocks of a guide that no test runs: those that nothing can name, and those that no call of its tests runs. */
export function unrunBlocks(blocks: readonly FencedBlock[], tests: readonly string[]): readonly Violation[] {
  const run = new Set(tests.flatMap(namesRun));
  return blocks.flatMap(({ name, language, line }) => {
    if (shown.includes(language)) return [];
    if (name === undefined) return [`line ${line}: a block of ${language} has no name`];
    return run.has(name) ? [] : [`line ${line}: no test runs ${name}`];
  });
}
