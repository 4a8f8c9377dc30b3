import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { Command } from "commander";
import { HoldfastError } from "../../errors.js";
import type { AccountAnswer } from "../../server/message-answers.js";
import type { CommandLine } from "../command-line.js";
import { type SearchOptions, searchMessages, withSearchOptions } from "../message-search.js";
import { renderAccount, renderMessages } from "../message-tables.js";
import type { RawAnswer } from "../node-client.js";
import {
  asCount,
  clientOf,
  type NodeOptions,
  type ReadingOptions,
  withNodeOptions,
  withReadingOptions,
} from "../node-options.js";
import { lookOf, printJson, printLines } from "../print.js";
import { replayCommand } from "./replay-messages.js";
import { sendCommand } from "./send-message.js";

export function messagesCommand(cli: CommandLine): Command {
  return new Command("messages")
    .description("the messages of the engine: what came in, and what became of it")
    .addCommand(listCommand(cli))
    .addCommand(showCommand(cli))
    .addCommand(bodyCommand(cli))
    .addCommand(replayCommand(cli))
    .addCommand(sendCommand(cli));
}

const mostListed = 1_000;

interface ListOptions extends ReadingOptions, SearchOptions {
  readonly limit: number;
}

function listCommand(cli: CommandLine): Command {
  return withSearchOptions(withReadingOptions(new Command("list")))
    .description("messages, newest first; never what they say")
    .option("--limit <number>", `how many, at most ${mostListed}`, asCount, 100)
    .action(async (options: ListOptions) => {
      const answer = await searchMessages(clientOf(cli, options), options, Math.min(options.limit, mostListed));
      if (options.json === true) return printJson(cli, answer);
      const { items, next_cursor: next } = answer;
      const lines = items.length === 0 ? ["There is no such message."] : renderMessages(items, lookOf(cli));
      const more = next === null ? [] : [`These are the newest ${items.length}: --limit takes up to ${mostListed}.`];
      printLines(cli, [...lines, ...more]);
    });
}

const pathOf = (id: string): string => `/messages/${encodeURIComponent(id)}`;

function showCommand(cli: CommandLine): Command {
  return withReadingOptions(new Command("show"))
    .description("one message: its steps, where it waits, its dead letters; never what it says")
    .argument("<id>", "the message")
    .action(async (id: string, options: ReadingOptions) => {
      const account = await clientOf(cli, options).get<AccountAnswer>(pathOf(id));
      if (options.json === true) return printJson(cli, account);
      printLines(cli, renderAccount(account, lookOf(cli)));
    });
}

interface BodyOptions extends NodeOptions {
  readonly step?: number;
  readonly out?: string;
}

function bodyCommand(cli: CommandLine): Command {
  return withNodeOptions(new Command("body"))
    .description("what a message says; takes a token with messages:read, and is a line in the audit")
    .argument("<id>", "the message")
    .option("--step <number>", "as this step of it was sent, in place of how it came", asCount)
    .option("--out <file>", "write its bytes to a new file, as they are")
    .action(async (id: string, { step, out, ...options }: BodyOptions) => {
      const path = `${pathOf(id)}/body${step === undefined ? "" : `?step=${step}`}`;
      const answer = await clientOf(cli, options).getBytes(path);
      if (out === undefined) return printLines(cli, linesOf(answer));
      writeNew(resolve(cli.cwd, out), answer.bytes);
      printLines(cli, [`${answer.bytes.length} bytes (${answer.contentType}) are in ${out}.`]);
    });
}

/** For reading: segments under each other, and nothing that would steer a terminal. */
function linesOf({ bytes, contentType }: RawAnswer): readonly string[] {
  const [, charset] = /charset=([\w.-]+)/.exec(contentType) ?? [];
  if (charset === undefined) return [`${bytes.length} bytes that are no text: --out writes them to a file.`];
  const text = new TextDecoder(charset).decode(bytes);
  const lines = text.split(/\r\n|\r|\n/).map((line) => line.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, "\uFFFD"));
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

/** What is there is nobody's to overwrite; and what is written is for its owner alone. */
function writeNew(path: string, bytes: Buffer): void {
  try {
    writeFileSync(path, bytes, { flag: "wx", mode: 0o600 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === "EEXIST" ? "is there already: name another" : `cannot be written (${code})`;
    throw new HoldfastError("USAGE", `The file ${path} ${why}.`);
  }
}
