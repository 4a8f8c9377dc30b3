import { join } from "node:path";
import { HoldfastError } from "../errors.js";

/**
 * Passes on what the work fails with; a failure of the embedded server that carries the end of its log names the file
 * instead, since an error is one line. The line that says why is kept.
 */
export async function tellingOfLog<Result>(dataDir: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof HoldfastError ? named(error, join(dataDir, "postgres.log")) : error;
  }
}

function named(error: HoldfastError, path: string): HoldfastError {
  const { code, message, details } = error;
  const { log, exit } = details;
  if (code !== "EMBEDDED_FAILED" || typeof log !== "string" || log === "") return error;
  const [what = ""] = message.split(" Its log ends with:");
  // A signal is reason enough, and what sessions said last has nothing to do with it.
  const isKilled = typeof (exit as { readonly signal?: unknown } | undefined)?.signal === "string";
  const reason = isKilled ? null : reasonIn(log);
  const said = `${what}${reason === null ? "" : ` It says: ${reason}.`} Its log is ${path}.`;
  return new HoldfastError(code, said, { cause: error, details });
}

/** PostgreSQL marks what it ends for; initdb does in its own way. */
function reasonIn(log: string): string | null {
  const line = log.split("\n").findLast((each) => /\b(FATAL|PANIC|error):/.test(each));
  const [, reason] = /\b(?:FATAL|PANIC|error): +(.*?)[.\s]*$/.exec(line ?? "") ?? [];
  return reason ?? null;
}
