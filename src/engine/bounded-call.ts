import { Script } from "node:vm";

/** Where a bounded call finds what it is to run: a script sees nothing but the globals. */
const underWay = Symbol.for("holdfast.bounded-call");
const script = new Script(`globalThis[Symbol.for("${underWay.description}")]()`);

/**
 * Runs a function that may never come back, and ends it when its time is over: `isOverdue` tells what it then throws. It costs a
 * thread for each call, too much for every message.
 */
export function boundedCall<Result>(run: () => Result, ms: number): Result {
  const globals = globalThis as { [underWay]?: () => Result };
  globals[underWay] = run;
  try {
    return script.runInThisContext({ timeout: Math.max(1, Math.ceil(ms)) }) as Result;
  } finally {
    delete globals[underWay];
  }
}

export function isOverdue(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
}
