import { Command, Option } from "commander";
import { jobStates } from "../../jobs/core/job.js";
import type { JobView } from "../../server/job-answers.js";
import type { ListAnswer } from "../../server/page.js";
import type { CommandLine } from "../command-line.js";
import { renderJob, renderJobs } from "../job-tables.js";
import { asMoment } from "../moment.js";
import { asCount, clientOf, type ReadingOptions, withReadingOptions } from "../node-options.js";
import { lookOf, printJson, printLines } from "../print.js";
import { submitCommand } from "./submit-job.js";

export function jobsCommand(cli: CommandLine): Command {
  return new Command("jobs")
    .description("jobs: what is to be done, who does it, and what became of it")
    .addCommand(submitCommand(cli))
    .addCommand(listCommand(cli))
    .addCommand(showCommand(cli))
    .addCommand(cancelCommand(cli))
    .addCommand(redriveCommand(cli));
}

const mostListed = 1_000;

interface ListOptions extends ReadingOptions {
  readonly state?: string;
  readonly op?: string;
  readonly namespace?: string;
  readonly agent?: string;
  readonly since?: string;
  readonly limit: number;
}

function listCommand(cli: CommandLine): Command {
  return withReadingOptions(new Command("list"))
    .description("jobs, newest first")
    .addOption(new Option("--state <state>", "in this state alone").choices([...jobStates]))
    .option("--op <name>", "of this operation alone")
    .option("--namespace <name>", "of this namespace alone")
    .option("--agent <name>", "of this agent alone")
    .option("--since <time>", "submitted at or after this: 2h (ago), ISO 8601, or seconds since 1970", asMoment)
    .option("--limit <number>", `how many, at most ${mostListed}`, asCount, 100)
    .action(async (options: ListOptions) => {
      const answer = await listed(cli, options);
      if (options.json === true) return printJson(cli, answer);
      const { items, next_cursor: next } = answer;
      const lines = items.length === 0 ? ["There is no such job."] : renderJobs(items, lookOf(cli));
      const more = next === null ? [] : [`These are the first ${items.length}: --limit takes up to ${mostListed}.`];
      printLines(cli, [...lines, ...more]);
    });
}

/** A page may hold fewer than asked for while there are more: until there are enough, the next one is asked for. */
async function listed(cli: CommandLine, options: ListOptions): Promise<ListAnswer<JobView>> {
  const client = clientOf(cli, options);
  const { state, op, namespace, agent, since } = options;
  const limit = Math.min(options.limit, mostListed);
  const items: JobView[] = [];
  for (let cursor: string | undefined; ; ) {
    const asked = { state, op, namespace, agent, since, cursor, limit: String(limit - items.length) };
    const stated = Object.entries(asked).filter((each): each is [string, string] => each[1] !== undefined);
    const query = new URLSearchParams(stated).toString();
    const page = await client.get<ListAnswer<JobView>>(`/v1/jobs?${query}`);
    items.push(...page.items);
    if (page.next_cursor === null || items.length >= limit) return { items, next_cursor: page.next_cursor };
    cursor = page.next_cursor;
  }
}

function showCommand(cli: CommandLine): Command {
  return withReadingOptions(new Command("show"))
    .description("one job: where it stands, its progress, result and error")
    .argument("<id>", "the job")
    .action(async (id: string, options: ReadingOptions) => {
      const job = await clientOf(cli, options).get<JobView>(`/v1/jobs/${encodeURIComponent(id)}`);
      if (options.json === true) return printJson(cli, job);
      printLines(cli, renderJob(job, lookOf(cli).paint));
    });
}

interface Changed {
  readonly job_id: string;
  readonly state: string;
}

function cancelCommand(cli: CommandLine): Command {
  return withReadingOptions(new Command("cancel"))
    .description("cancel jobs: what their agents still report changes nothing; ask the leader of scheduler")
    .argument("<id...>", "the jobs")
    .action(async (ids: readonly string[], options: ReadingOptions) => {
      const client = clientOf(cli, options);
      await each(cli, ids, options, async (path) => await client.delete<Changed>(path));
    });
}

function redriveCommand(cli: CommandLine): Command {
  return withReadingOptions(new Command("redrive"))
    .description("queue jobs again that are dead, failed or cancelled; ask the leader of scheduler")
    .argument("<id...>", "the jobs")
    .action(async (ids: readonly string[], options: ReadingOptions) => {
      const client = clientOf(cli, options);
      await each(cli, ids, options, async (path) => await client.post<Changed>(`${path}/redrive`));
    });
}

/** One by one, so that what was done is known where a later one is refused. */
async function each(
  cli: CommandLine,
  ids: readonly string[],
  { json }: ReadingOptions,
  act: (path: string) => Promise<Changed>,
): Promise<void> {
  const items: Changed[] = [];
  for (const id of new Set(ids)) {
    const changed = await act(`/v1/jobs/${encodeURIComponent(id)}`);
    items.push(changed);
    if (json !== true) printLines(cli, [`Job ${changed.job_id} is ${changed.state} now.`]);
  }
  if (json === true) printJson(cli, { items });
}
