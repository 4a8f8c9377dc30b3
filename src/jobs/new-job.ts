import { randomFillSync } from "node:crypto";
import { HoldfastError } from "../errors.js";
import type { Submission } from "../store/job-orders.js";
import type { Json } from "./core/job.js";
import { isDeeperThan } from "./core/json-depth.js";
import type { JobSettings } from "./job-settings.js";

/** A job as a caller describes it. */
export interface NewJob {
  readonly op: string;
  readonly payload?: Json | undefined;
  readonly namespace?: string | undefined;
  readonly jobId?: string | undefined;
  /** 0 to 3, 3 first; 1 by default. */
  readonly priority?: number | undefined;
  readonly capabilities?: readonly string[] | undefined;
  readonly pinnedAgent?: string | undefined;
  readonly runAt?: Date | undefined;
  readonly timeoutMs?: number | undefined;
  readonly maxAttempts?: number | undefined;
  /** A second job of the same namespace and key is not made: the first is the answer. */
  readonly idempotencyKey?: string | undefined;
}

export const jobLimits = {
  /** Names of operations, namespaces, agents, capabilities and ids. */
  name: /^[A-Za-z0-9][A-Za-z0-9_.:@/-]{0,199}$/,
  nameInWords: '1 to 200 letters, digits and "_.:@/-", and begin with a letter or a digit',
  capabilities: 32,
  /** Of all capabilities of a job together: what jobs ask for is found by an index. */
  capabilitiesLength: 1_600,
  payloadBytes: 262_144,
  /** Arrays and objects within each other: what goes through JSON step by step, as the database does, has to end somewhere. */
  jsonLevels: 128,
  keyLength: 500,
  timeoutMs: 604_800_000,
  attempts: 1_000,
} as const;

/** Refuses what cannot be a job, before anything is written. */
export function submissionOf(job: NewJob, settings: JobSettings, now: number): Submission {
  const { op, payload = null, namespace = "default", priority = 1, capabilities = [] } = job;
  const { pinnedAgent = null, runAt, idempotencyKey = null } = job;
  named("op", op);
  named("namespace", namespace);
  if (pinnedAgent !== null) named("pinned_agent", pinnedAgent);
  if (job.jobId !== undefined) named("job_id", job.jobId);
  if (capabilities.length > jobLimits.capabilities)
    throw invalid(`capabilities are ${jobLimits.capabilities} at most.`);
  for (const capability of capabilities) named("a capability", capability);
  if (capabilities.join("").length > jobLimits.capabilitiesLength)
    throw invalid(`capabilities have ${jobLimits.capabilitiesLength} characters together at most: use shorter names.`);
  if (idempotencyKey !== null) checkKey(idempotencyKey);
  checkJson("payload", payload);
  if (runAt !== undefined && Number.isNaN(runAt.getTime())) throw invalid("run_at must be a time.");
  return {
    kind: "submit",
    ...(job.jobId === undefined ? { jobId: timeOrderedId(now), hasNewId: true } : { jobId: job.jobId }),
    op,
    payload,
    namespace,
    priority: whole("priority", priority, 0, 3),
    capabilities: [...new Set(capabilities)],
    pinnedAgent,
    runAt: runAt?.getTime() ?? null,
    timeoutMs: whole("timeout_ms", job.timeoutMs ?? settings.timeoutMs, 1, jobLimits.timeoutMs),
    maxAttempts: whole("max_attempts", job.maxAttempts ?? settings.maxAttempts, 1, jobLimits.attempts),
    idempotencyKey,
    cron: null,
    tick: null,
  };
}

/** Two keys of which the database would make the same must not pass for one. */
function checkKey(key: string): void {
  if (key === "" || key.length > jobLimits.keyLength) {
    throw invalid(`idempotency_key must be 1 to ${jobLimits.keyLength} characters.`);
  }
  if (isUnstorable(key)) throw invalid("idempotency_key must hold whole characters, none of them zero.");
}

/** What is kept with a job has a limit, and can be stored: the database's JSON knows no zero and no half of a character. */
export function checkJson(what: string, value: Json): void {
  if (isDeeperThan(value, jobLimits.jsonLevels)) {
    throw invalid(
      `The ${what} is nested deeper than ${jobLimits.jsonLevels} levels: make it flatter, or send it as text.`,
    );
  }
  if (mostBytesOf(value) > jobLimits.payloadBytes) {
    const bytes = Buffer.byteLength(asJson(what, value));
    if (bytes > jobLimits.payloadBytes) {
      throw new HoldfastError(
        "BODY_TOO_LARGE",
        `The ${what} has ${bytes} bytes, and a job takes ${jobLimits.payloadBytes}: keep it elsewhere, and send where it is.`,
      );
    }
  }
  if (holdsUnstorable(value)) throw invalid(`The ${what} must hold whole characters, none of them zero.`);
}

/** A program may hand over what has no JSON: the desk must never get as far as that. */
function asJson(what: string, value: unknown): string {
  const text: unknown = attempt(() => JSON.stringify(value));
  if (typeof text === "string") return text;
  throw invalid(`The ${what} must be JSON: it holds something that has none, such as a bigint or a function.`);
}

function attempt<Result>(doing: () => Result): Result | null {
  try {
    return doing();
  } catch {
    return null;
  }
}

/** As JSON it has no more bytes than this: most are far below the limit, and need not be written to know it. */
function mostBytesOf(value: Json): number {
  if (typeof value === "string") return 6 * value.length + 2;
  if (typeof value !== "object" || value === null) return hasNoJson(value) ? Number.POSITIVE_INFINITY : 32;
  let bytes = 2;
  if (Array.isArray(value)) {
    for (const item of value as readonly Json[]) bytes += mostBytesOf(item) + 1;
    return bytes;
  }
  for (const [name, item] of Object.entries(value)) bytes += 6 * name.length + 4 + mostBytesOf(item);
  return bytes;
}

const hasNoJson = (value: unknown): boolean => ["bigint", "function", "symbol"].includes(typeof value);

const cannotBeStored = /[\0\p{Cs}]/u;
/** Any half of a character, also of those that are whole: where there is none, nothing else need be looked for. */
const mayNotBeStored = /[\0\ud800-\udfff]/;

/** What somebody says for people to read is never refused: it is cut, and what cannot be stored is replaced. */
export function storableText(text: string, longest: number): string {
  const cut = text.slice(0, longest).replace(/[\ud800-\udbff]$/, "");
  return cut.replace(/[\0\p{Cs}]/gu, "\ufffd");
}

function holdsUnstorable(value: Json): boolean {
  if (typeof value === "string") return isUnstorable(value);
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some(holdsUnstorable);
  for (const [name, item] of Object.entries(value)) if (isUnstorable(name) || holdsUnstorable(item)) return true;
  return false;
}

const isUnstorable = (text: string): boolean => mayNotBeStored.test(text) && cannotBeStored.test(text);

export function named(what: string, name: string): void {
  if (typeof name === "string" && jobLimits.name.test(name)) return;
  throw invalid(`${what} must be ${jobLimits.nameInWords}.`);
}

function whole(what: string, value: number, min: number, max: number): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw invalid(`${what} must be a whole number from ${min} to ${max}.`);
}

function invalid(message: string): HoldfastError {
  return new HoldfastError("INVALID_REQUEST", message);
}

const randomPerId = 10;
/** Drawn for many at a time: a draw takes longer than all else about an id. */
const drawn = Buffer.alloc(256 * randomPerId);
let used = drawn.length;

/** A UUID of version 7: ids that grow with time stay together in an index. */
function timeOrderedId(now: number): string {
  if (used === drawn.length) {
    randomFillSync(drawn);
    used = 0;
  }
  const random = drawn.toString("hex", used, used + randomPerId);
  used += randomPerId;
  const time = Math.floor(now).toString(16).padStart(12, "0");
  const variant = ((drawn[used - 1] as number) & 0b11) + 8;
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(0, 3)}-${variant.toString(16)}${random.slice(3, 6)}-${random.slice(6, 18)}`;
}
