import { HoldfastError } from "../../errors.js";
import type { Exit } from "./launch.js";
import type { LogFile } from "./log-file.js";

/** Says what failed, how the process ended, and what it last wrote, since that is where PostgreSQL gives its reasons. */
export function failureWithLog(what: string, exit: Exit | undefined, log: LogFile): HoldfastError {
  const tail = log.tail();
  const message = `${what}${exit === undefined ? "" : ` (${describeExit(exit)})`}.${tail === "" ? "" : ` Its log ends with:\n${tail}`}`;
  return new HoldfastError("EMBEDDED_FAILED", message, { cause: exit?.error, details: { exit, log: tail } });
}

function describeExit({ code, signal, error }: Exit): string {
  if (error !== undefined) return error.message;
  return signal === null ? `exit code ${code}` : signal;
}
