import type { CommandLine, Output } from "./command-line.js";

export type Tone = "good" | "warning" | "bad" | "dim" | "strong";

/** Gives text a colour, or leaves it as it is. */
export type Paint = (tone: Tone | null, text: string) => string;

const codes: Readonly<Record<Tone, string>> = { good: "32", warning: "33", bad: "31", dim: "2", strong: "1" };

export const plain: Paint = (_tone, text) => text;

const inColour: Paint = (tone, text) =>
  tone === null || text === "" ? text : `\u001b[${codes[tone]}m${text}\u001b[0m`;

/** Colour is for a terminal, and not for one whose owner said NO_COLOR. */
export function paintFor(output: Output, env: CommandLine["env"]): Paint {
  const wanted = (env.NO_COLOR ?? "") === "" && env.TERM !== "dumb";
  return output.isTTY && wanted ? inColour : plain;
}

/** Text from elsewhere on one line, without what would steer a terminal. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ").trim();
}
