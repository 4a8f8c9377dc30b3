import { nearest } from "../config/nearest.js";
import { HoldfastError } from "../errors.js";
import { type QueueDefaults, usualDefaults } from "./queue-defaults.js";

/** What becomes of a head that has failed for good: it makes way, or holds its lane. */
export type LanePolicy = "dead_letter" | "block";

/** What a queue is, and how it works. What is left out has a default. */
export interface QueueOptions {
  readonly name: string;
  /** Whose leader works on this queue; a role of the same name by default. Each node that contends for it must make the queue. */
  readonly role?: string | undefined;
  /** A message goes from one to the next. One stage, "ingress", by default. */
  readonly stages?: readonly string[] | undefined;
  readonly maxBodyBytes?: number | undefined;
  /** How often the head of a lane is tried before the policy decides. */
  readonly maxAttempts?: number | undefined;
  /** What becomes of a head that has failed for good: it makes way ("dead_letter"), or holds its lane ("block"). */
  readonly policy?: LanePolicy | undefined;
  /** The first pause after a failure; it doubles, up to `backoffCapMs`. */
  readonly backoffMs?: number | undefined;
  readonly backoffCapMs?: number | undefined;
  /** In how many crashes in a row a head may be in flight before it is put aside. */
  readonly maxReclaims?: number | undefined;
  /** How many lanes are worked on at the same time. */
  readonly concurrency?: number | undefined;
  /** How many messages one statement takes in, hands out or finishes. */
  readonly batch?: number | undefined;
  /** How long a message may take. */
  readonly handlerTimeoutMs?: number | undefined;
  /** How long a claim holds unless it is renewed; `store.lease_ttl_seconds` of the node by default. */
  readonly leaseMs?: number | undefined;
  /** How often the leader looks for claims that were lost; `cluster.reclaim_interval_seconds` by default. */
  readonly sweepIntervalMs?: number | undefined;
  /** How long finished messages are kept; null keeps them; `retention.bodies_days` by default. */
  readonly retentionMs?: number | null | undefined;
  /** How long a segment takes messages in, before the next is opened. */
  readonly segmentMs?: number | undefined;
  /** How many bytes may wait to be taken in, before further messages are refused. */
  readonly maxWaitingBytes?: number | undefined;
}

export interface QueueSettings {
  readonly name: string;
  readonly role: string;
  readonly stages: readonly string[];
  readonly maxBodyBytes: number;
  readonly maxAttempts: number;
  readonly policy: LanePolicy;
  readonly backoffMs: number;
  readonly backoffCapMs: number;
  readonly maxReclaims: number;
  readonly concurrency: number;
  readonly batch: number;
  readonly handlerTimeoutMs: number;
  readonly leaseMs: number;
  readonly sweepIntervalMs: number;
  readonly retentionMs: number | null;
  readonly segmentMs: number;
  readonly maxWaitingBytes: number;
}

const mebibyte = 1_048_576;
const day = 86_400_000;
const optionNames: readonly string[] = [
  "name",
  "role",
  "stages",
  "maxBodyBytes",
  "maxAttempts",
  "policy",
  "backoffMs",
  "backoffCapMs",
  "maxReclaims",
  "concurrency",
  "batch",
  "handlerTimeoutMs",
  "leaseMs",
  "sweepIntervalMs",
  "retentionMs",
  "segmentMs",
  "maxWaitingBytes",
] satisfies readonly (keyof QueueOptions)[];
const namePattern = /^[a-z0-9_-]{1,63}$/;

export function queueSettingsOf(options: QueueOptions, defaults: QueueDefaults = usualDefaults): QueueSettings {
  checkOptions(options);
  const { name, role = options.name, stages = ["ingress"], policy = "dead_letter" } = options;
  for (const given of [name, ...stages]) {
    if (typeof given !== "string" || !namePattern.test(given))
      throw bad(`"${String(given)}" must be 1 to 63 of the characters a-z, 0-9, "_" and "-".`);
  }
  if (stages.length === 0 || new Set(stages).size !== stages.length) throw bad("stages must be one or more names.");
  if (policy !== "dead_letter" && policy !== "block") {
    throw bad(`policy must be "dead_letter" or "block", not ${JSON.stringify(policy)}.`);
  }
  const retentionMs = options.retentionMs === undefined ? defaults.retentionMs : options.retentionMs;
  return {
    name,
    role,
    stages,
    policy,
    maxBodyBytes: within("maxBodyBytes", options.maxBodyBytes ?? mebibyte, 1, 256 * mebibyte),
    maxAttempts: within("maxAttempts", options.maxAttempts ?? 5, 1, 1_000_000),
    backoffMs: within("backoffMs", options.backoffMs ?? 1_000, 0, day),
    backoffCapMs: within("backoffCapMs", options.backoffCapMs ?? 300_000, 0, 30 * day),
    maxReclaims: within("maxReclaims", options.maxReclaims ?? 5, 1, 1_000),
    concurrency: within("concurrency", options.concurrency ?? 16, 1, 10_000),
    batch: within("batch", options.batch ?? 500, 1, 10_000),
    handlerTimeoutMs: within("handlerTimeoutMs", options.handlerTimeoutMs ?? 30_000, 1, day),
    leaseMs: within("leaseMs", options.leaseMs ?? defaults.leaseMs, 100, day),
    sweepIntervalMs: within("sweepIntervalMs", options.sweepIntervalMs ?? defaults.sweepIntervalMs, 10, day),
    retentionMs: retentionMs === null ? null : within("retentionMs", retentionMs, 0, 36_500 * day),
    segmentMs: within("segmentMs", options.segmentMs ?? day, 10, 366 * day),
    maxWaitingBytes: within("maxWaitingBytes", options.maxWaitingBytes ?? 64 * mebibyte, 1, 4_096 * mebibyte),
  };
}

/** A mistyped option would be a default in silence. */
function checkOptions(options: QueueOptions): void {
  if (typeof options !== "object" || options === null || typeof options.name !== "string") {
    throw bad("it needs options, and a name among them.");
  }
  const unknown = Object.keys(options).find((key) => !optionNames.includes(key));
  if (unknown !== undefined)
    throw bad(`there is no option "${unknown}". Did you mean "${nearest(unknown, optionNames)}"?`);
}

function within(name: string, value: number, min: number, max: number): number {
  if (typeof value === "number" && value >= min && value <= max) return value;
  throw bad(`${name} must be a number from ${min} to ${max}, not ${String(value)}.`);
}

function bad(message: string): HoldfastError {
  return new HoldfastError("BAD_SETTINGS", `The queue cannot be made: ${message}`);
}
