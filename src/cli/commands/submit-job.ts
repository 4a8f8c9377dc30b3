import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import type { Duration } from "../../config/duration.js";
import { HoldfastError } from "../../errors.js";
import type { JobView } from "../../server/job-answers.js";
import { type CommandLine, Ended } from "../command-line.js";
import { jobLine } from "../job-tables.js";
import type { NodeClient } from "../node-client.js";
import {
  asCount,
  asDuration,
  clientOf,
  durationOption,
  type ReadingOptions,
  withReadingOptions,
} from "../node-options.js";
import { oneLine } from "../paint.js";
import { printJson, printLines } from "../print.js";

interface SubmitOptions extends ReadingOptions {
  readonly payload?: string;
  readonly payloadFile?: string;
  readonly namespace?: string;
  readonly jobId?: string;
  readonly priority?: number;
  readonly capability?: readonly string[];
  readonly pinnedAgent?: string;
  readonly runAt?: string;
  readonly timeout?: Duration;
  readonly maxAttempts?: number;
  readonly idempotencyKey?: string;
  readonly wait?: boolean;
  readonly within: Duration;
}

interface Submitted {
  readonly job_id: string;
  readonly state: string;
}

/** How often whoever waits is told of progress. */
const lookMs = 1_000;
const finished: readonly string[] = ["succeeded", "failed", "dead", "cancelled"];

export function submitCommand(cli: CommandLine): Command {
  return withReadingOptions(new Command("submit"))
    .description("submit a job; ask the leader of scheduler")
    .argument("<op>", "what is to be done")
    .option("--payload <json>", "what the agent gets")
    .option("--payload-file <file>", "the same from a file")
    .option("--namespace <name>", "whose agents it is for; else default")
    .option("--job-id <id>", "its id: the same again is the same job")
    .option("--idempotency-key <key>", "one job of this key in its namespace")
    .option("--priority <0..3>", "3 first; else 1", asPriority)
    .option("--capability <names...>", "what its agent has to be able to do")
    .option("--pinned-agent <name>", "the one agent that may take it")
    .option("--run-at <time>", "not before this: seconds since 1970, or ISO 8601")
    .option("--timeout <duration>", "how long one attempt may take; else jobs.timeout of the leader, 1h", asDuration)
    .option("--max-attempts <number>", "how often it is tried; else jobs.max_attempts of the leader, 5", asCount)
    .option("--wait", "wait for its end, and show how far it is: exit code 0 where it succeeded, else 1")
    .addOption(durationOption("--within <duration>", "how long to wait", "10m"))
    .action(async (op: string, options: SubmitOptions) => {
      const body = { op, ...payloadOf(cli, options), ...fieldsOf(options) };
      const client = clientOf(cli, options);
      const submitted = await client.post<Submitted>("/v1/jobs", { body });
      if (options.wait === true) return await waitFor(cli, client, submitted.job_id, options);
      if (options.json === true) return printJson(cli, submitted);
      printLines(cli, [`Job ${submitted.job_id} is ${submitted.state}.`]);
    });
}

function fieldsOf(options: SubmitOptions): Record<string, unknown> {
  const { timeout } = options;
  const given = {
    namespace: options.namespace,
    job_id: options.jobId,
    idempotency_key: options.idempotencyKey,
    priority: options.priority,
    capabilities: options.capability,
    pinned_agent: options.pinnedAgent,
    run_at: options.runAt,
    timeout_ms: timeout?.ms,
    max_attempts: options.maxAttempts,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

function payloadOf(cli: CommandLine, { payload, payloadFile }: SubmitOptions): { readonly payload?: unknown } {
  if (payload !== undefined && payloadFile !== undefined) {
    throw new HoldfastError("USAGE", "A job has one payload: give --payload or --payload-file.");
  }
  const text = payloadFile === undefined ? payload : readPayload(resolve(cli.cwd, payloadFile));
  if (text === undefined) return {};
  try {
    return { payload: JSON.parse(text) as unknown };
  } catch {
    throw new HoldfastError("USAGE", `The payload is not JSON: text is written with quotes, as in --payload '"text"'.`);
  }
}

function readPayload(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new HoldfastError("USAGE", `The payload file ${path} cannot be read (${code}).`);
  }
}

/** What is on its way is told on the other output, so that the result can be piped. */
async function waitFor(
  cli: CommandLine,
  client: NodeClient,
  jobId: string,
  { within, json }: SubmitOptions,
): Promise<void> {
  const until = performance.now() + within.ms;
  // The first look is at once: whoever waits sees what he waits for.
  let waitMs = 0;
  for (let said = ""; ; ) {
    const leftMs = Math.max(0, Math.ceil(until - performance.now()));
    const path = `/v1/jobs/${encodeURIComponent(jobId)}?wait_ms=${Math.min(waitMs, leftMs)}`;
    waitMs = lookMs;
    const job = await client.get<JobView>(path);
    const line = jobLine(job);
    if (line !== said) cli.stderr.write(`${line}\n`);
    said = line;
    if (finished.includes(job.state)) return tellEnd(cli, job, json === true);
    if (leftMs === 0) {
      const more = `holdfast jobs show ${jobId}`;
      throw new HoldfastError(
        "REFUSED",
        `Job ${jobId} is still ${job.state} after ${within.written}: "${more}" shows it later.`,
      );
    }
  }
}

function tellEnd(cli: CommandLine, job: JobView, json: boolean): void {
  if (json) printJson(cli, job);
  else if (job.state === "succeeded") printLines(cli, [oneLine(JSON.stringify(job.result))]);
  if (job.state !== "succeeded") throw new Ended(1);
}

function asPriority(text: string): number {
  if (/^[0-3]$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be 0, 1, 2 or 3.");
}
