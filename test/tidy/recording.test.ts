import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { repositoryRoot } from "./source-tree.js";

interface Frame {
  readonly at: number;
  readonly lines: readonly string[];
}

interface AnimatedScreen {
  readonly animatedScreen: (
    frames: readonly Frame[],
    look: { columns: number; seconds: number; title: string },
  ) => string;
  readonly runsOf: (frames: readonly Frame[], seconds: number) => readonly { row: number; from: number; to: number }[];
}

const script = pathToFileURL(join(repositoryRoot, "scripts/animated-screen.mjs")).href;
const { animatedScreen, runsOf } = (await import(script)) as AnimatedScreen;

const frames = [
  { at: 0, lines: ["Holdfast", "\u001b[32mnode-1 leads\u001b[0m & <b>"] },
  { at: 0.5, lines: ["Holdfast", "nobody leads"] },
  { at: 0.51, lines: ["Holdfast", "node-2 leads", "took 10 ms"] },
];

test("a line of the screen is drawn once for as long as it reads the same", () => {
  expect(runsOf(frames, 2).map(({ row, from, to }) => [row, from, to])).toEqual([
    [0, 0, 2],
    [1, 0, 0.5],
    [1, 0.5, 0.51],
    [1, 0.51, 2],
    [2, 0.51, 2],
  ]);
});

test("what was on the screen is text in the picture, and what never changed does not move", () => {
  const picture = animatedScreen(frames, { columns: 40, seconds: 2, title: "A takeover" });
  expect(picture).toContain("node-1 leads</tspan>");
  expect(picture).toContain(" &amp; &lt;b></tspan>");
  expect(picture).toMatch(/<text y="\d+"><tspan [^>]*>Holdfast/);
  expect(picture.match(/@keyframes/g)).toHaveLength(4);
  expect(picture).not.toContain("\u001b");
});
