import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { Command } from "commander";
import type { Duration } from "../../config/duration.js";
import { HoldfastError } from "../../errors.js";
import type { AccountAnswer } from "../../server/message-answers.js";
import type { SentAnswer } from "../../server/message-send-routes.js";
import { type CommandLine, Ended } from "../command-line.js";
import { renderAccount } from "../message-tables.js";
import type { NodeClient } from "../node-client.js";
import { clientOf, durationOption, type ReadingOptions, withReadingOptions } from "../node-options.js";
import { oneLine } from "../paint.js";
import { lookOf, printJson, printLines } from "../print.js";

interface SendOptions extends ReadingOptions {
  readonly file?: string;
  readonly text?: string;
  readonly wait?: boolean;
  readonly within: Duration;
}

/** How often somebody looks who waits. */
const lookMs = 250;

export function sendCommand(cli: CommandLine): Command {
  return withReadingOptions(new Command("send"))
    .description("take a test message in, as if it had come in by the connection; ask the leader of engine")
    .argument("<connection>", "the inbound")
    .option("--file <file>", "its bytes, as they are in this file")
    .option("--text <text>", "itself")
    .option(
      "--wait",
      "wait until nothing of it waits any more, and show what became of it: exit code 1 where it failed",
    )
    .addOption(durationOption("--within <duration>", "how long to wait", "30s"))
    .action(async (connection: string, options: SendOptions) => {
      const client = clientOf(cli, options);
      const body = { connection, ...bodyOf(cli, options) };
      const sent = await client.post<SentAnswer>("/messages", { body });
      if (options.wait === true) return await waitFor(cli, client, sent, options);
      if (options.json === true) return printJson(cli, sent);
      printLines(cli, [toldOf(sent)]);
    });
}

function bodyOf(cli: CommandLine, { file, text }: SendOptions): { readonly body: string; readonly encoding: string } {
  if ((file === undefined) === (text === undefined)) {
    throw new HoldfastError("USAGE", "A message has one body: give --file or --text.");
  }
  if (text !== undefined) return { body: text, encoding: "text" };
  return { body: readBody(resolve(cli.cwd, file ?? "")), encoding: "base64" };
}

/** As base64. */
export function readBody(path: string): string {
  try {
    return readFileSync(path).toString("base64");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new HoldfastError("USAGE", `The file ${path} cannot be read (${code}).`);
  }
}

function toldOf({ id, connection, duplicate, malformed }: SentAnswer): string {
  if (duplicate)
    return `Message ${id} of ${connection} has this control id: nothing was taken in. Give it another one in MSH-10, or replay ${id}.`;
  if (malformed === null) return `Message ${id} was taken in by ${connection}.`;
  return `Message ${id} was taken in by ${connection}, and cannot be read: ${oneLine(malformed)}`;
}

/** What is on its way is told on the other output, so that the account can be piped. */
async function waitFor(cli: CommandLine, client: NodeClient, sent: SentAnswer, options: SendOptions): Promise<void> {
  cli.stderr.write(`${toldOf(sent)}\n`);
  const until = performance.now() + options.within.ms;
  for (let said = ""; ; ) {
    const account = await client.get<AccountAnswer>(`/messages/${encodeURIComponent(sent.id)}`);
    if (account.pending.length === 0) return tellEnd(cli, account, options);
    const line = `It waits in ${account.pending.map(({ stage, lane }) => oneLine(`${stage} ${lane}`)).join(", ")}.`;
    if (line !== said) cli.stderr.write(`${line}\n`);
    said = line;
    if (performance.now() > until) {
      const more = `holdfast messages show ${sent.id}`;
      throw new HoldfastError(
        "REFUSED",
        `Message ${sent.id} still waits: "${more}" shows where, "holdfast connections list" why.`,
      );
    }
    await new Promise((done) => setTimeout(done, lookMs));
  }
}

function tellEnd(cli: CommandLine, account: AccountAnswer, { json }: SendOptions): void {
  if (json === true) printJson(cli, account);
  else printLines(cli, renderAccount(account, lookOf(cli)));
  if (account.statuses.includes("error")) throw new Ended(1);
}
