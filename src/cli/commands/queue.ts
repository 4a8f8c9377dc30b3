import { Command, Option } from "commander";
import { HoldfastError } from "../../errors.js";
import { laneStates } from "../../queue/seen-lane.js";
import type { ListAnswer } from "../../server/page.js";
import type { LaneAnswer, LetterAnswer, RedrivenAnswer } from "../../server/queue-answers.js";
import type { CommandLine } from "../command-line.js";
import { asCount, clientOf, type ReadingOptions, withReadingOptions } from "../node-options.js";
import { oneLine } from "../paint.js";
import { lookOf, printJson, printLines } from "../print.js";
import { renderLanes, renderLetters } from "../queue-tables.js";

export function queueCommand(cli: CommandLine): Command {
  return new Command("queue")
    .description("the lanes of queues, and what became of their messages")
    .addCommand(lanesCommand(cli))
    .addCommand(
      steeringCommand(cli, "pause", "hand nothing more of a lane out; what its handler has begun is finished"),
    )
    .addCommand(steeringCommand(cli, "resume", "let a lane go on; a head that waits or holds it is tried again"))
    .addCommand(steeringCommand(cli, "skip", "put the head of a blocked lane aside, and let the lane go on behind it"))
    .addCommand(deadLettersCommand(cli))
    .addCommand(redriveCommand(cli));
}

const mostListed = 1_000;

interface PlaceOptions extends ReadingOptions {
  readonly queue?: string;
  readonly stage?: string;
}

interface ListOptions extends PlaceOptions {
  readonly state?: string;
  readonly lane?: string;
  readonly limit: number;
}

function withPlaceOptions(command: Command): Command {
  return withReadingOptions(command)
    .option("--queue <name>", "of this queue alone")
    .option("--stage <name>", "of this stage alone");
}

const withLimit = (command: Command): Command =>
  command.option("--limit <number>", `how many, at most ${mostListed}`, asCount, 100);

function lanesCommand(cli: CommandLine): Command {
  return withLimit(withPlaceOptions(new Command("lanes")))
    .description("every lane, how deep it is, and what holds it up")
    .addOption(new Option("--state <state>", "in this state alone").choices([...laneStates]))
    .action(async (options: ListOptions) => {
      const answer = await clientOf(cli, options).get<ListAnswer<LaneAnswer>>(`/queue/lanes${queryOf(options)}`);
      if (options.json === true) return printJson(cli, answer);
      const lines = answer.items.length === 0 ? ["There is no such lane."] : renderLanes(answer.items, lookOf(cli));
      printLines(cli, [...lines, ...moreOf(answer)]);
    });
}

function deadLettersCommand(cli: CommandLine): Command {
  return withLimit(withPlaceOptions(new Command("dead-letters")))
    .description("messages that made way, newest first, with their reasons; never what they say")
    .option("--lane <name>", "of this lane alone")
    .action(async (options: ListOptions) => {
      const answer = await clientOf(cli, options).get<ListAnswer<LetterAnswer>>(`/dead-letters${queryOf(options)}`);
      if (options.json === true) return printJson(cli, answer);
      const none = ["There is no such dead letter."];
      const lines = answer.items.length === 0 ? none : renderLetters(answer.items, lookOf(cli));
      printLines(cli, [...lines, ...moreOf(answer)]);
    });
}

function queryOf({ queue, stage, state, lane, limit }: Partial<ListOptions>): string {
  const given = { queue, stage, state, lane, limit: limit === undefined ? undefined : Math.min(limit, mostListed) };
  const stated = Object.entries(given).filter(([, value]) => value !== undefined);
  const query = new URLSearchParams(stated.map(([name, value]): [string, string] => [name, String(value)]));
  return stated.length === 0 ? "" : `?${query.toString()}`;
}

function moreOf({ items, next_cursor: next }: ListAnswer<unknown>): readonly string[] {
  return next === null ? [] : [`These are the first ${items.length}: --limit takes up to ${mostListed}.`];
}

function steeringCommand(cli: CommandLine, act: "pause" | "resume" | "skip", description: string): Command {
  return withPlaceOptions(new Command(act))
    .description(description)
    .argument("<lane>", "the lane; --queue and --stage where others have its name")
    .action(async (lane: string, options: PlaceOptions) => {
      const path = `/queue/lanes/${encodeURIComponent(lane)}/${act}${queryOf(options)}`;
      const client = clientOf(cli, options);
      const answer = await namingCandidates(lane, () => client.post<LaneAnswer>(path));
      if (options.json === true) return printJson(cli, answer);
      const name = `${answer.queue} ${answer.stage} ${oneLine(answer.lane)}`;
      printLines(cli, [`${name} is ${answer.state.replace("_", " ")}, with ${answer.depth} not finished.`]);
    });
}

interface Ambiguous {
  readonly details?: { readonly candidates?: readonly { readonly queue: string; readonly stage: string }[] };
}

/** The node answers with what to put into a URL; here it is options. */
async function namingCandidates<Answer>(lane: string, ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    const { candidates } = (error.details.answer as Ambiguous | undefined)?.details ?? {};
    if (candidates === undefined) throw error;
    const ways = candidates.map(({ queue, stage }) => `--queue ${queue} --stage ${stage}`).join(", or ");
    throw new HoldfastError("INVALID_REQUEST", `There are several lanes "${lane}": add ${ways}.`, { cause: error });
  }
}

function redriveCommand(cli: CommandLine): Command {
  return withReadingOptions(new Command("redrive"))
    .description("take dead letters in again, each at the end of its own lane; ask the leader of their queue's role")
    .argument("<id...>", 'the dead letters, as "holdfast queue dead-letters" shows them')
    .action(async (ids: readonly string[], options: ReadingOptions) => {
      const client = clientOf(cli, options);
      const items: RedrivenAnswer[] = [];
      for (const id of inOrderOfDeath(ids)) {
        const answer = await client.post<RedrivenAnswer>(`/dead-letters/${encodeURIComponent(id)}/redrive`);
        items.push(answer);
        const where = `${answer.queue} ${answer.stage} ${oneLine(answer.lane)}`;
        // One by one, so that what was done is known where a later one is refused.
        if (options.json !== true) printLines(cli, [`Dead letter ${id} is number ${answer.position} of ${where} now.`]);
      }
      if (options.json === true) printJson(cli, { items });
    });
}

/** Ids count up. What is no number is for the node to refuse. */
function inOrderOfDeath(ids: readonly string[]): readonly string[] {
  return [...new Set(ids)].sort((one, other) => one.length - other.length || (one < other ? -1 : 1));
}
