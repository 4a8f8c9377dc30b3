import { Command } from "commander";
import type { CronAnswer, TickAnswer, TriggeredAnswer } from "../../server/cron-answers.js";
import type { ListAnswer } from "../../server/page.js";
import type { CommandLine } from "../command-line.js";
import { nextOf, renderCrons, renderTicks } from "../cron-tables.js";
import { asCount, clientOf, type ReadingOptions, withReadingOptions } from "../node-options.js";
import { lookOf, printJson, printLines } from "../print.js";

export function cronsCommand(cli: CommandLine): Command {
  return new Command("crons")
    .description("jobs by the clock: when each fires, and what became of its ticks")
    .addCommand(listCommand(cli))
    .addCommand(historyCommand(cli))
    .addCommand(triggerCommand(cli))
    .addCommand(pauseCommand(cli))
    .addCommand(resumeCommand(cli));
}

const mostListed = 1_000;

interface ListOptions extends ReadingOptions {
  readonly limit: number;
}

const withLimit = (command: Command): Command =>
  withReadingOptions(command).option("--limit <number>", `how many, at most ${mostListed}`, asCount, 100);

const pathOf = (name: string): string => `/v1/crons/${encodeURIComponent(name)}`;
const limitOf = ({ limit }: ListOptions): string => `?limit=${Math.min(limit, mostListed)}`;

function moreOf({ items, next_cursor: next }: ListAnswer<unknown>): readonly string[] {
  return next === null ? [] : [`These are the first ${items.length}: --limit takes up to ${mostListed}.`];
}

function listCommand(cli: CommandLine): Command {
  return withLimit(new Command("list"))
    .description("every cron, its schedule, and when it fires next")
    .action(async (options: ListOptions) => {
      const answer = await clientOf(cli, options).get<ListAnswer<CronAnswer>>(`/v1/crons${limitOf(options)}`);
      if (options.json === true) return printJson(cli, answer);
      const none = ["There is no cron: [[crons]] in the settings makes one."];
      const lines = answer.items.length === 0 ? none : renderCrons(answer.items, lookOf(cli));
      printLines(cli, [...lines, ...moreOf(answer)]);
    });
}

function historyCommand(cli: CommandLine): Command {
  return withLimit(new Command("history"))
    .description("what became of a cron's ticks, newest first")
    .argument("<name>", "the cron")
    .action(async (name: string, options: ListOptions) => {
      const path = `${pathOf(name)}/history${limitOf(options)}`;
      const answer = await clientOf(cli, options).get<ListAnswer<TickAnswer>>(path);
      if (options.json === true) return printJson(cli, answer);
      const lines = answer.items.length === 0 ? ["No tick has come yet."] : renderTicks(answer.items, lookOf(cli));
      printLines(cli, [...lines, ...moreOf(answer)]);
    });
}

function triggerCommand(cli: CommandLine): Command {
  const told = ({ name, job_id: id }: TriggeredAnswer): string => `Cron ${name} was triggered: its job is ${id}.`;
  return steeringCommand(cli, "trigger", told).description(
    "submit a job of each cron now, beside its schedule, also of one that is paused; ask the leader of scheduler",
  );
}

function pauseCommand(cli: CommandLine): Command {
  const told = ({ name }: CronAnswer): string =>
    `Cron ${name} is paused; "holdfast crons resume ${name}" lets it go on.`;
  return steeringCommand(cli, "pause", told).description(
    "let crons rest until they are resumed: what falls into a pause is not made up for; ask the leader of scheduler",
  );
}

function resumeCommand(cli: CommandLine): Command {
  const told = (cron: CronAnswer, now: number): string => `Cron ${cron.name} goes on: ${nextOf(cron, now)}.`;
  return steeringCommand(cli, "resume", told).description(
    "let crons go on that were paused; they begin anew; ask the leader of scheduler",
  );
}

/** One by one, so that what was done is known where a later one is refused. */
function steeringCommand<Answer>(
  cli: CommandLine,
  act: "trigger" | "pause" | "resume",
  told: (answer: Answer, now: number) => string,
): Command {
  return withReadingOptions(new Command(act))
    .argument("<name...>", "the crons")
    .action(async (names: readonly string[], options: ReadingOptions) => {
      const client = clientOf(cli, options);
      const items: Answer[] = [];
      try {
        for (const name of new Set(names)) {
          const answer = await client.post<Answer>(`${pathOf(name)}/${act}`);
          items.push(answer);
          if (options.json !== true) printLines(cli, [told(answer, lookOf(cli).now)]);
        }
      } finally {
        if (options.json === true && items.length > 0) printJson(cli, { items });
      }
    });
}
