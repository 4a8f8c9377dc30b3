import { parseArgs } from "node:util";
import { benches } from "./benches.js";

const names = [...Object.keys(benches), "all"];

export const usage = `npm run bench -- [${names.join("|")}] [--json] [--out FILE] [--rounds N] [--messages N]
npm run bench -- soak [--minutes N] [--json] [--out FILE]`;

/** What the command line asks for. */
export interface Order {
  readonly name: string;
  readonly json: boolean;
  /** A file that gets the JSON. */
  readonly out: string | null;
  readonly rounds: number | null;
  readonly messages: number | null;
  /** Of a soak. */
  readonly minutes: number | null;
}

/** Null where it cannot be understood, after that was said. */
export function readOrder(args: readonly string[]): Order | null {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        json: { type: "boolean", default: false },
        out: { type: "string" },
        rounds: { type: "string" },
        messages: { type: "string" },
        minutes: { type: "string" },
      },
    });
    const [name = "all", ...rest] = positionals;
    if (rest.length > 0) throw new Error(`one bench at a time, or all: ${positionals.join(" ")}`);
    if (![...names, "soak"].includes(name)) throw new Error(`there is no bench "${name}"`);
    if (values.minutes !== undefined && name !== "soak") throw new Error("only a soak takes --minutes");
    const { json, out = null } = values;
    const [rounds, messages] = [countOf("rounds", values.rounds), countOf("messages", values.messages)];
    return { name, json, out, rounds, messages, minutes: countOf("minutes", values.minutes) };
  } catch (error) {
    console.error((error as Error).message);
    return null;
  }
}

/** Null where nothing was said. */
function countOf(option: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const count = Number(text);
  if (!(count >= 1)) throw new Error(`--${option} takes a number from 1 on, not "${text}"`);
  return Math.ceil(count);
}
