import { type ErrorCode, HoldfastError } from "../errors.js";
import { type Answer, answer } from "./answer.js";
import { notLeader } from "./leader-guard.js";
import type { GuardedNode } from "./role-headers.js";

/** Said in place of what the database or the code said, which is for the log and not for a caller. */
const neutral: Partial<Record<ErrorCode, string>> = {
  UNKNOWN_OUTCOME: "It was not told whether this was done: look before you try again.",
  DATABASE_AWAY: "The database does not answer this node; try again later, or ask another node.",
  DATABASE_READ_ONLY: "The database accepts no writes now; try again later.",
  DATABASE_REFUSED: "The database refused; the node's log says why.",
  SCHEMA_TOO_NEW: "The database's schema is newer than this node.",
  SCHEMA_TOO_OLD: "The database's schema is older than this node needs.",
  POOLER_DETECTED: "This node cannot work through the pooler in front of its database.",
  EMBEDDED_FAILED: "The embedded database does not run; the node's log says why.",
};

/** No failure of this node: what a caller's own function said, or did not say. */
const ofFunctions: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["FUNCTION_FAILED", "FUNCTION_TIMED_OUT"]);

/** The answer to a `HoldfastError`; null for every other error, which is its owner's to answer. */
export function errorAnswer(error: unknown, node: GuardedNode): Answer | null {
  if (!(error instanceof HoldfastError)) return null;
  const { code, details } = error;
  if (code === "NOT_LEADER") return notLeader(node, textOf(details.role));
  if (code === "STALE_EPOCH") return answer(node, error.status, staleBody(details));
  if (error.status >= 500 && error.status !== 503 && !ofFunctions.has(code)) return internal(node);
  const message = neutral[code] ?? error.message;
  const told = code === "INVALID_REQUEST" ? { details } : {};
  return answer(node, error.status, { error: code, message, ...told });
}

/** What went wrong is in the log, under the same id. */
export function internal(node: GuardedNode, requestId?: string): Answer {
  const said = { error: "INTERNAL", message: "Something went wrong in this node; its log says what." };
  return answer(node, 500, requestId === undefined ? said : { ...said, details: { request_id: requestId } });
}

function staleBody(details: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { field = "leader_epoch", expected = null, got = null } = details;
  return { error: "STALE_EPOCH", alias: "STALE_LEASE", field, expected: jsonEpoch(expected), got: jsonEpoch(got) };
}

const jsonEpoch = (value: unknown): unknown => (typeof value === "bigint" ? Number(value) : value);
const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
