import { errorCodes } from "../../errors.js";
import type { HeartbeatAnswer, LeaseAnswer, RenewalAnswer, ResultAnswer } from "../../store/job-orders.js";
import type { Json } from "../core/job.js";
import type { ReportedResult } from "../reported-result.js";

/** What a worker asks of the leader, as it is written into the workers' book. */
export type WorkerOrder =
  | {
      readonly kind: "heartbeat";
      readonly agent: string;
      readonly namespace: string;
      readonly capabilities: readonly string[];
      readonly version: string;
      readonly tasks: number;
      readonly registers: boolean;
    }
  /** Its id is the lease's: whichever leader carries it out, it is the same lease. */
  | {
      readonly kind: "lease";
      readonly agent: string;
      readonly namespace: string;
      readonly capabilities: readonly string[];
      readonly maxTasks: number;
      readonly waitMs: number;
      readonly running: number;
      readonly places: number;
    }
  | {
      readonly kind: "renew";
      readonly agent: string;
      readonly leaseId: string;
      readonly progress: readonly { readonly jobId: string; readonly progress: Json }[];
    }
  | { readonly kind: "report"; readonly results: readonly ReportedResult[] }
  | { readonly kind: "give_back"; readonly agent: string; readonly leaseId: string };

/** What the leader's room says to each kind. */
export interface OrderAnswers {
  readonly heartbeat: HeartbeatAnswer;
  readonly lease: LeaseAnswer;
  readonly renew: RenewalAnswer;
  readonly report: readonly ResultAnswer[];
  readonly give_back: readonly string[];
}

export type WorkerAnswer<Kind extends WorkerOrder["kind"] = WorkerOrder["kind"]> =
  | {
      readonly kind: "done";
      /** How long a worker may be silent. */
      readonly ttlMs: number;
      readonly answer: OrderAnswers[Kind];
    }
  | { readonly kind: "refused"; readonly code: string; readonly message: string };

const kinds: readonly string[] = ["heartbeat", "lease", "renew", "report", "give_back"];

/** Null where it was written by a node of another version, and means nothing here. */
export function readOrder(body: Json): WorkerOrder | null {
  const order = body as { readonly kind?: unknown } | null;
  return typeof order?.kind === "string" && kinds.includes(order.kind) ? (body as unknown as WorkerOrder) : null;
}

export const orderJson = (order: WorkerOrder): Json => order as unknown as Json;
export const answerJson = (answer: WorkerAnswer): Json => answer as unknown as Json;

export function readAnswer(answer: Json): WorkerAnswer {
  return answer as unknown as WorkerAnswer;
}

/** Whether another leader, or the same one later, may take what this one would not. */
export function isPassing(code: string): boolean {
  return !lasting.includes(code) || !errorCodes.some((each) => each === code);
}

const lasting: readonly string[] = [
  "AGENT_DELETED",
  "BAD_REQUEST",
  "BODY_TOO_LARGE",
  "FORBIDDEN",
  "INVALID_REQUEST",
  "NOT_FOUND",
  "STALE_EPOCH",
];
