import { type Clock, systemClock } from "../../election/clock.js";
import { HoldfastError } from "../../errors.js";
import { jobLimits } from "../new-job.js";
import { type AgentLog, silentLog } from "./agent-log.js";
import type { Operation, Operations } from "./operation.js";

/** What anybody who works on jobs is given. */
export interface WorkOptions {
  /** Whose work this is. One process has it at a time; a token of the role `agent` is bound to it. */
  readonly name: string;
  readonly operations: Operations;
  /** "default" by default. */
  readonly namespace?: string | undefined;
  /** Jobs that ask for one that is not here go to others. */
  readonly capabilities?: readonly string[] | undefined;
  /** How many tasks run at the same time. 4 by default. */
  readonly concurrency?: number | undefined;
  /** How long tasks under way may take once the agent is asked to stop. 30 s by default. */
  readonly drainMs?: number | undefined;
  /** How often it tells that it is there. 15 s by default. */
  readonly heartbeatMs?: number | undefined;
  /** How long a leader without work may let it wait, before it asks anew. 25 s by default. */
  readonly pollMs?: number | undefined;
  /** How often it looks whether a leader that lets it wait is still there. 5 s by default. */
  readonly probeMs?: number | undefined;
  /** How often progress is told at the most. 1 s by default. */
  readonly progressMs?: number | undefined;
  /** So many results may wait for a leader before no new work is asked for. 256 by default. */
  readonly maxWaitingResults?: number | undefined;
  readonly log?: AgentLog | undefined;
  readonly clock?: Clock | undefined;
  /** From 0 to 1. */
  readonly random?: (() => number) | undefined;
}

/** What an agent is, what it can do, and where it asks for work. */
export interface AgentOptions extends WorkOptions {
  /** A node of the cluster, or several: whichever answers leads to the leader. */
  readonly url: string | readonly string[];
  readonly token?: string | undefined;
}

export interface WorkSettings {
  readonly name: string;
  readonly operations: ReadonlyMap<string, Operation>;
  readonly namespace: string;
  readonly capabilities: readonly string[];
  readonly concurrency: number;
  readonly drainMs: number;
  readonly heartbeatMs: number;
  readonly pollMs: number;
  readonly probeMs: number;
  readonly progressMs: number;
  readonly maxWaitingResults: number;
  readonly log: AgentLog;
  readonly clock: Clock;
  readonly random: () => number;
}

export interface AgentSettings extends WorkSettings {
  readonly seeds: readonly [string, ...string[]];
  readonly token: string | null;
}

const day = 86_400_000;
/** What a leader lets anybody wait. */
const longestPollMs = 120_000;

export function agentSettings(options: AgentOptions): AgentSettings {
  const { token = "" } = options;
  const settings = workSettings(options);
  return { ...settings, seeds: seedsOf(options.url), token: token === "" ? null : token };
}

/** Refuses what cannot work, before anybody is asked. */
export function workSettings(options: WorkOptions): WorkSettings {
  const { name, operations, namespace = "default", capabilities = [] } = options;
  named("The name", name);
  named("The namespace", namespace);
  for (const capability of capabilities) named("A capability", capability);
  if (capabilities.length > jobLimits.capabilities) throw bad(`Capabilities are ${jobLimits.capabilities} at most.`);
  const byName = Object.entries(operations);
  if (byName.length === 0) throw bad("There is no operation that it could run.");
  for (const [op, operation] of byName) {
    named("The name of an operation", op);
    if (typeof operation !== "function") throw bad(`Operation "${op}" is no function.`);
  }
  return {
    name,
    operations: new Map(byName),
    namespace,
    capabilities: [...new Set(capabilities)],
    concurrency: whole("concurrency", options.concurrency ?? 4, 1, 1_024),
    drainMs: whole("drainMs", options.drainMs ?? 30_000, 0, day),
    heartbeatMs: whole("heartbeatMs", options.heartbeatMs ?? 15_000, 10, day),
    pollMs: whole("pollMs", options.pollMs ?? 25_000, 0, longestPollMs),
    probeMs: whole("probeMs", options.probeMs ?? 5_000, 10, day),
    progressMs: whole("progressMs", options.progressMs ?? 1_000, 10, day),
    maxWaitingResults: whole("maxWaitingResults", options.maxWaitingResults ?? 256, 1, 100_000),
    log: options.log ?? silentLog,
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
  };
}

function seedsOf(url: AgentOptions["url"]): readonly [string, ...string[]] {
  const [first, ...others] = [...new Set((typeof url === "string" ? [url] : url).map(addressOf))];
  if (first === undefined) throw bad("It needs the address of a node.");
  return [first, ...others];
}

function addressOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !["http:", "https:"].includes(url.protocol)) {
    throw bad(`"${text}" is no address like http://127.0.0.1:7400.`);
  }
  if (url.username !== "" || url.password !== "") throw bad("The address of a node carries no credentials.");
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}

function named(what: string, name: string): void {
  if (typeof name === "string" && jobLimits.name.test(name)) return;
  throw bad(`${what} must be ${jobLimits.nameInWords}.`);
}

function whole(what: string, value: number, min: number, max: number): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw bad(`${what} must be a whole number from ${min} to ${max}, not ${String(value)}.`);
}

function bad(message: string): HoldfastError {
  return new HoldfastError("BAD_SETTINGS", `The agent cannot be made: ${message}`);
}
