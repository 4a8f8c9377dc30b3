import type { Clock } from "../../election/clock.js";
import { DrainingError, HoldfastError } from "../../errors.js";
import type { NodeRow } from "../../membership/node-row.js";
import type { CancellationAnswer } from "../../store/job-orders.js";
import { isFinished, type Job, type Json } from "../core/job.js";
import { agentSilence } from "../job-settings.js";
import type { Jobs } from "../jobs.js";
import { jobLimits } from "../new-job.js";
import { functionAgentOf, functionNamespace, functionOp } from "./function-name.js";
import { agentNameOf } from "./worker.js";

export interface FunctionCallsParts {
  readonly jobs: Pick<Jobs, "submit" | "wait" | "cancel" | "book">;
  readonly nodes: () => Promise<readonly Pick<NodeRow, "nodeId" | "status">[]>;
  readonly clock: Clock;
  readonly trouble: (what: string, error: unknown) => void;
}

export interface FunctionCall {
  readonly name: string;
  readonly payload: Json;
  readonly timeoutMs: number;
  /** The same call twice is one: the second has the first one's answer. */
  readonly idempotencyKey?: string | undefined;
  /** Nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

export interface FunctionResult {
  readonly jobId: string;
  readonly result: Json;
}

const highest = 3;
/** Who has a function is known for so long. */
const knownMs = 2_000;
/** What a job's own end may take longer than its timeout. */
const slackMs = 500;

/**
 * Calls of functions, at the leader. Each is a job that is tried once, so it is durable, counted and fenced as any other; the node that
 * runs it may die, and another one runs it then.
 */
export class FunctionCalls {
  private readonly parts: FunctionCallsParts;
  private readonly known = new Map<string, number>();

  constructor(parts: FunctionCallsParts) {
    this.parts = parts;
  }

  /** Throws UNKNOWN_FUNCTION, FUNCTION_FAILED, FUNCTION_TIMED_OUT, DRAINING where it is called off, and what a submission may be refused with. */
  async call({ name, payload, timeoutMs, idempotencyKey, signal }: FunctionCall): Promise<FunctionResult> {
    const { jobs } = this.parts;
    const op = functionOp(name);
    if (!jobLimits.name.test(op)) throw unknown(name);
    if (!(await this.isKnown(op))) throw unknown(name);
    const call = { op, payload, timeoutMs, idempotencyKey, namespace: functionNamespace, capabilities: [op] };
    const [made] = await jobs.submit([{ ...call, priority: highest, maxAttempts: 1 }]);
    if (made === undefined) throw new HoldfastError("INTERNAL", "A submission has an answer.");
    const { jobId } = made;
    if (made.kind === "existing" && !made.same) {
      throw new HoldfastError("REFUSED", `The idempotency key is another call's: that of job "${jobId}".`);
    }
    const job = await jobs.wait(jobId, timeoutMs + slackMs, signal);
    if (job !== null && isFinished(job.state)) return resultOf(name, job);
    // Whoever has a key may come back for the answer, and finds it; else nobody would ever hear it.
    const end = signal.aborted && idempotencyKey !== undefined ? null : await this.cancel(jobId);
    if (signal.aborted) throw closes(name);
    const ended = end === "finished" ? await jobs.wait(jobId, 0, signal) : null;
    if (ended !== null && isFinished(ended.state)) return resultOf(name, ended);
    throw end === "cancelled" ? tookTooLong(name, timeoutMs) : mayStillRun(name, timeoutMs, jobId);
  }

  /** Null where it is not known what became of it. */
  private async cancel(jobId: string): Promise<CancellationAnswer["kind"] | null> {
    try {
      return (await this.parts.jobs.cancel(jobId)).kind;
    } catch (error) {
      // Another one leads by now. Where the call has begun, its own timeout ends it.
      if (!(error instanceof HoldfastError)) throw error;
      this.parts.trouble("cannot cancel the call of a function", error);
      return null;
    }
  }

  /** Whether a living node has it. Who was known a moment ago is not looked for again. */
  private async isKnown(op: string): Promise<boolean> {
    const { jobs, nodes, clock } = this.parts;
    if (clock.mono() - (this.known.get(op) ?? Number.NEGATIVE_INFINITY) < knownMs) return true;
    const [agents, all] = await Promise.all([jobs.book.agents(), nodes()]);
    const living = all.filter(({ status }) => status === "active" || status === "joining");
    const names = new Set(living.map(({ nodeId }) => functionAgentOf(agentNameOf(nodeId))));
    const isThere = agents.some(
      ({ name, capabilities, deletedAt, silentMs }) =>
        names.has(name) && deletedAt === null && silentMs < agentSilence.staleMs && capabilities.includes(op),
    );
    if (isThere) this.known.set(op, clock.mono());
    else this.known.delete(op);
    return isThere;
  }
}

function resultOf(name: string, { jobId, state, result, error, timeoutMs }: Job): FunctionResult {
  if (state === "succeeded") return { jobId, result };
  if (state === "cancelled") throw tookTooLong(name, timeoutMs);
  if (error?.startsWith("took longer than its timeout") === true) throw tookTooLong(name, timeoutMs);
  throw new HoldfastError("FUNCTION_FAILED", `Function "${name}" failed: ${error ?? "it did not say why"}`);
}

function unknown(name: string): HoldfastError {
  return new HoldfastError("UNKNOWN_FUNCTION", `No living node has the function "${name}".`);
}

/** Whoever has hung up does not hear it; whoever has not is told that it was not the function that failed. */
function closes(name: string): DrainingError {
  return new DrainingError(`This node closed before function "${name}" had answered: call it again, at another node.`);
}

function mayStillRun(name: string, timeoutMs: number, jobId: string): HoldfastError {
  const message = `Function "${name}" did not answer within ${timeoutMs} ms, and could not be called off: job "${jobId}" tells.`;
  return new HoldfastError("UNKNOWN_OUTCOME", message);
}

function tookTooLong(name: string, timeoutMs: number): HoldfastError {
  return new HoldfastError("FUNCTION_TIMED_OUT", `Function "${name}" did not answer within ${timeoutMs} ms.`);
}
