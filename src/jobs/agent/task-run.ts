import type { Clock } from "../../election/clock.js";
import { HoldfastError } from "../../errors.js";
import { cut } from "../../queue/core/failure-reason.js";
import { inSpan, spanNames } from "../../telemetry/traces.js";
import type { TaskOutcome } from "../core/agent/outbox.js";
import type { Task } from "../core/agent/work.js";
import type { Json } from "../core/job.js";
import { checkJson } from "../new-job.js";
import type { Operation } from "./operation.js";

export interface TaskRunParts {
  readonly task: Task;
  readonly leaseId: string;
  readonly operation: Operation | undefined;
  readonly clock: Clock;
  readonly progress: (value: Json) => void;
  /** It was told to end some time ago, and goes on. */
  readonly deaf: () => void;
}

const deafMs = 5_000;

/** What is to be told of a task that has ended: nothing where it was taken away. */
export type TaskEnd = { readonly kind: "ended"; readonly outcome: TaskOutcome } | { readonly kind: "dropped" };

/** Why a task that runs is told to end, and its result is not wanted. */
type Dropped = "lost" | "stopped";

/**
 * One task under way. It ends when its operation does, and holds its place until then: an operation that does not heed its
 * signal is not left behind to run beside the next ones.
 */
export class TaskRun {
  readonly task: Task;
  readonly leaseId: string;
  readonly startedAt: number;
  private readonly parts: TaskRunParts;
  private readonly aborter = new AbortController();
  private isOverdue = false;
  private dropped: Dropped | null = null;
  private readonly timers: (() => void)[] = [];

  constructor(parts: TaskRunParts) {
    this.parts = parts;
    this.task = parts.task;
    this.leaseId = parts.leaseId;
    this.startedAt = parts.clock.mono();
  }

  /** Its result is of no use to anybody any more. */
  drop(why: Dropped): void {
    if (this.dropped !== null) return;
    this.dropped = why;
    this.abort(why === "lost" ? "the job is not this agent's any more" : "the agent stops");
  }

  /** Never rejects. */
  async run(): Promise<TaskEnd> {
    const { task, operation, clock } = this.parts;
    if (operation === undefined) return ended(unknownOperation(task.op));
    const { timeoutMs } = task;
    if (timeoutMs !== null) this.timers.push(clock.wakeAt(clock.mono() + timeoutMs, () => this.overdue(timeoutMs)));
    try {
      const about = { "holdfast.op": task.op, "holdfast.job_id": task.jobId, "holdfast.attempt": task.attempt };
      const result = await inSpan(
        spanNames.job,
        about,
        async () => await operation(task.payload as never, this.context()),
      );
      if (this.dropped !== null) return { kind: "dropped" };
      return ended(this.isOverdue ? tookTooLong(timeoutMs) : outcomeOf(result));
    } catch (error) {
      if (this.dropped !== null) return { kind: "dropped" };
      return ended(this.isOverdue ? tookTooLong(timeoutMs) : failureOf(error));
    } finally {
      for (const takeBack of this.timers) takeBack();
    }
  }

  private context() {
    const { task, progress } = this.parts;
    return {
      jobId: task.jobId,
      jobEpoch: task.jobEpoch,
      attempt: task.attempt,
      signal: this.aborter.signal,
      progress: (value: Json): void => {
        checkJson("progress", value);
        if (!this.aborter.signal.aborted) progress(value);
      },
    };
  }

  private overdue(timeoutMs: number): void {
    this.isOverdue = true;
    this.abort(`the job took longer than its timeout of ${timeoutMs} ms`);
  }

  private abort(reason: string): void {
    const { clock, deaf } = this.parts;
    this.aborter.abort(new HoldfastError("REFUSED", `Stop: ${reason}.`));
    this.timers.push(clock.wakeAt(clock.mono() + deafMs, deaf));
  }
}

function ended(outcome: TaskOutcome): TaskEnd {
  return { kind: "ended", outcome };
}

function unknownOperation(op: string): TaskOutcome {
  return { status: "failed", error: `this agent has no operation "${op}"`, retry: false };
}

function tookTooLong(timeoutMs: number | null): TaskOutcome {
  return { status: "failed", error: `took longer than its timeout of ${timeoutMs} ms`, retry: true };
}

/** What cannot be kept as a result fails for good: another attempt would do the work again, for the same result. */
function outcomeOf(returned: unknown): TaskOutcome {
  try {
    // As it would arrive: what has no JSON becomes what JSON makes of it, and nothing at all becomes null.
    const result = JSON.parse(JSON.stringify(returned ?? null) ?? "null") as Json;
    checkJson("result", result);
    return { status: "succeeded", result };
  } catch (error) {
    return { status: "failed", error: `the result cannot be kept: ${textOf(error)}`, retry: false };
  }
}

function failureOf(error: unknown): TaskOutcome {
  const retry = !(typeof error === "object" && error !== null && "retry" in error && error.retry === false);
  return { status: "failed", error: textOf(error), retry };
}

/** Anything can be thrown, also what cannot be read. */
function textOf(error: unknown): string {
  try {
    if (typeof error === "string" && error.trim() !== "") return whole(error);
    if (error instanceof Error) {
      const { name, message } = error;
      const text = message.trim() === "" ? ((error as NodeJS.ErrnoException).code ?? name) : message;
      return whole(["Error", "FinalError", "HoldfastError", text].includes(name) ? text : `${name}: ${text}`);
    }
  } catch {
    return "the operation threw something that cannot be read";
  }
  return "the operation failed and did not say why";
}

/** One line; and a cut may go through a character. */
function whole(text: string): string {
  return cut(text).replace(/\p{Cs}/gu, "\uFFFD");
}
