import { resolve } from "node:path";
import { Command } from "commander";
import { errorCodes, HoldfastError } from "../../errors.js";
import type { ReplayedAnswer } from "../../server/message-replay-routes.js";
import { type CommandLine, Ended } from "../command-line.js";
import { confirm } from "../confirm.js";
import { isSearch, type SearchOptions, searchMessages, withSearchOptions } from "../message-search.js";
import type { NodeClient } from "../node-client.js";
import { asCount, clientOf, type ReadingOptions, withReadingOptions } from "../node-options.js";
import { oneLine } from "../paint.js";
import { printJson, printLines } from "../print.js";
import { readBody } from "./send-message.js";

interface ReplayOptions extends ReadingOptions, SearchOptions {
  readonly to?: string;
  readonly bodyFile?: string;
  readonly limit: number;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

type Item = ReplayedAnswer["items"][number];

const mostReplayed = 100_000;
/** How many are asked for at a time: enough for it to be quick, and few enough to be told of. */
const atOnce = 100;
/** Above what a node takes for so many. */
const patienceMs = 40_000;

export function replayCommand(cli: CommandLine): Command {
  return withSearchOptions(withReadingOptions(new Command("replay")))
    .description("take messages in again, in the order in which they came; ask the leader of engine")
    .argument("[id...]", "the messages; or none, and a filter")
    .option("--to <outbound>", "to this outbound alone; else to all that their handlers send to")
    .option("--body-file <file>", "one message, with these bytes in place of its own")
    .option(
      "--limit <number>",
      `of those that the filter finds, how many, the newest; at most ${mostReplayed}`,
      asCount,
      100,
    )
    .option("--dry-run", "only say which they would be")
    .option("--yes", "do not ask before those that a filter finds are replayed")
    .action(async (ids: readonly string[], options: ReplayOptions) => {
      check(ids, options);
      const client = clientOf(cli, options);
      if (options.bodyFile !== undefined) return await replayEdited(cli, client, ids[0] ?? "", options);
      const { chosen, more } = ids.length > 0 ? { chosen: ids, more: "" } : await found(cli, client, options);
      const inOrder = [...new Set(chosen)].sort((one, other) => Number(one) - Number(other));
      if (options.dryRun === true) return tellChosen(cli, inOrder, { ...options, more });
      if (inOrder.length === 0) throw new HoldfastError("NOT_FOUND", "There is no such message: nothing was done.");
      if (ids.length === 0)
        await confirm(cli, `${counted(inOrder.length)} will be taken in again${more}.`, options.yes === true);
      await replayAll(cli, client, inOrder, options);
    });
}

function check(ids: readonly string[], options: ReplayOptions): void {
  const { bodyFile, dryRun } = options;
  const problem =
    (ids.length === 0 &&
      !isSearch(options) &&
      "Say which messages: by their ids, or by a filter such as --connection.") ||
    (ids.length > 0 &&
      isSearch(options) &&
      "Messages are chosen by their ids or by a filter: leave one of them out.") ||
    (bodyFile !== undefined && ids.length !== 1 && "--body-file is for one message: name its id.") ||
    (bodyFile !== undefined && dryRun === true && "--dry-run and --body-file say two things: leave one of them out.");
  if (problem) throw new HoldfastError("USAGE", problem);
}

const counted = (count: number): string => `${count} message${count === 1 ? "" : "s"}`;
const whereTo = ({ to }: ReplayOptions): { readonly to?: string } => (to === undefined ? {} : { to });

async function replayEdited(cli: CommandLine, client: NodeClient, id: string, options: ReplayOptions): Promise<void> {
  const edited = { body: readBody(resolve(cli.cwd, options.bodyFile ?? "")), encoding: "base64" };
  const path = `/messages/${encodeURIComponent(id)}/replay`;
  const item = await client.post<Item>(path, { body: { ...edited, ...whereTo(options) } });
  if (options.json === true) return printJson(cli, item);
  printLines(cli, [toldOf(item)]);
}

async function found(cli: CommandLine, client: NodeClient, options: ReplayOptions): Promise<Chosen> {
  const looked = (count: number): void => cli.stderr.write(`found ${count} so far\n`);
  const limit = Math.min(options.limit, mostReplayed);
  const { items, next_cursor: next } = await searchMessages(client, options, limit, looked);
  const more = next === null ? "" : `, the newest, and there may be more: --limit takes up to ${mostReplayed}`;
  return { chosen: items.map(({ id }) => id), more };
}

interface Chosen {
  readonly chosen: readonly string[];
  /** What is to be said where the limit, and not the filter, decided. */
  readonly more: string;
}

function tellChosen(
  cli: CommandLine,
  ids: readonly string[],
  { json, more }: ReplayOptions & Pick<Chosen, "more">,
): void {
  if (json === true) return printJson(cli, { dry_run: true, matched: ids });
  const named = ids.length === 0 ? "" : `: ${ids.join(", ")}`;
  printLines(cli, [`${counted(ids.length)} would be taken in again${named}${more}.`]);
}

async function replayAll(
  cli: CommandLine,
  client: NodeClient,
  ids: readonly string[],
  options: ReplayOptions,
): Promise<void> {
  const items: Item[] = [];
  try {
    for (let waiting = ids; waiting.length > 0; ) {
      const some = waiting.slice(0, atOnce);
      const asked = { body: { ids: some, ...whereTo(options) }, timeoutMs: patienceMs };
      const answer = await client.post<ReplayedAnswer>("/messages/replay", asked);
      items.push(...answer.items);
      if (options.json !== true) printLines(cli, answer.items.map(toldOf));
      if (ids.length > atOnce) cli.stderr.write(`${items.length} of ${ids.length}\n`);
      checkGoesOn(answer);
      waiting = [...answer.left, ...waiting.slice(some.length)];
    }
  } catch (error) {
    if (items.length > 0) cli.stderr.write(`${doneOf(items)} of ${ids.length} were replayed before it failed.\n`);
    throw error;
  } finally {
    if (options.json === true && items.length > 0) printJson(cli, { replayed: doneOf(items), items });
  }
  if (doneOf(items) < ids.length) throw new Ended(1);
}

/** What was left because of a failure would fail again. */
function checkGoesOn({ items, left }: ReplayedAnswer): void {
  const { error, message } = items.at(-1) ?? { error: "TOO_BUSY", message: "The node had no time for any of them." };
  if (left.length === 0 || error === undefined) return;
  const code = errorCodes.find((known) => known === error) ?? "TOO_BUSY";
  throw new HoldfastError(code, `${message} Replay the others later.`);
}

const doneOf = (items: readonly Item[]): number => items.filter(({ id }) => id !== null).length;

function toldOf({ id, replay_of: of, message }: Item): string {
  if (id !== null) return `Message ${of} is taken in again as ${id}.`;
  return `Message ${of} was not replayed: ${oneLine(message ?? "")}`;
}
