/**
 * The error catalogue. Every failure that leaves Holdfast is a `HoldfastError` whose `code` stands in this table, with the
 * HTTP status and the exit code it turns into. Database errors become one of these once, at the store's edge.
 */
const catalogue = {
  /** The node does not lead the role, or no longer trusts that it does. */
  NOT_LEADER: { status: 409, exit: 3 },
  /** A newer epoch of the role has committed; the write was refused. Never retried. */
  STALE_EPOCH: { status: 409, exit: 3 },
  /** The function given to `term.transaction` ended the transaction by itself, so nothing could be fenced. */
  TRANSACTION_ESCAPED: { status: 500, exit: 1 },
  /** The reply to a write or a COMMIT was lost: it may or may not have been done. */
  UNKNOWN_OUTCOME: { status: 503, exit: 1 },
  /** The node is draining and admits no new work. */
  DRAINING: { status: 503, exit: 1 },
  /** The node has been closed. */
  CLOSED: { status: 503, exit: 1 },
  /** The role's name is malformed, or nothing in this cluster knows it. */
  UNKNOWN_ROLE: { status: 404, exit: 2 },
  /** No node of this id is in the registry. */
  UNKNOWN_NODE: { status: 404, exit: 2 },
  /** The node is dead or has left, or its process is another by now: nobody is there to act. */
  NODE_GONE: { status: 409, exit: 1 },
  /** Nobody leads the role, so there is nobody to ask. */
  NO_LEADER: { status: 409, exit: 3 },
  /** The node that was asked did not do it, and says why. */
  REFUSED: { status: 409, exit: 1 },
  /** The agent was deleted, and has not registered anew. */
  AGENT_DELETED: { status: 410, exit: 1 },
  /** No living node has a function of this name. */
  UNKNOWN_FUNCTION: { status: 404, exit: 1 },
  /** The function threw; the message is what it said. */
  FUNCTION_FAILED: { status: 502, exit: 1 },
  /** The function did not answer in its time. Its job was cancelled. */
  FUNCTION_TIMED_OUT: { status: 504, exit: 1 },
  /** A setting is missing, unknown, of the wrong kind, or breaks an invariant. */
  BAD_SETTINGS: { status: 400, exit: 2 },
  /** The database cannot be reached. */
  DATABASE_AWAY: { status: 503, exit: 4 },
  /** The database accepts no writes: a replica, or a read-only setting. */
  DATABASE_READ_ONLY: { status: 503, exit: 4 },
  /** The database refused for a reason of its own: permissions, a broken schema, a full disk. */
  DATABASE_REFUSED: { status: 503, exit: 4 },
  /** The schema is newer than this code may run on. */
  SCHEMA_TOO_NEW: { status: 503, exit: 2 },
  /** The schema is older than this code needs, and `migrate` is "check". */
  SCHEMA_TOO_OLD: { status: 503, exit: 2 },
  /** The schema was made by migrations that are not this code's. */
  SCHEMA_DIFFERS: { status: 503, exit: 2 },
  /** The schema belongs to another cluster, or to a node outside a cluster. */
  SCHEMA_IN_USE: { status: 409, exit: 2 },
  /** Another living process uses this node id. */
  NODE_ID_TAKEN: { status: 409, exit: 2 },
  /** A pooler stands between the node and the database where a direct session was asked for. */
  POOLER_DETECTED: { status: 503, exit: 2 },
  /** The embedded PostgreSQL does not run here. */
  EMBEDDED_UNSUPPORTED: { status: 500, exit: 2 },
  /** The embedded PostgreSQL did not start, or ended by itself. */
  EMBEDDED_FAILED: { status: 503, exit: 4 },
  /** The request carries no token, or one that is not known, has expired or was revoked. */
  UNAUTHORIZED: { status: 401, exit: 1 },
  /** The token does not carry the permission that this needs. */
  FORBIDDEN: { status: 403, exit: 1 },
  /** There is nothing under this name. */
  NOT_FOUND: { status: 404, exit: 1 },
  /** It was there, and is kept no more. */
  GONE: { status: 410, exit: 1 },
  /** The request cannot be read: not HTTP, not JSON, a header that is too long. */
  BAD_REQUEST: { status: 400, exit: 2 },
  /** The request can be read, but a field is missing, unknown, or of the wrong kind. */
  INVALID_REQUEST: { status: 422, exit: 2 },
  /** The body is larger than this endpoint takes. */
  BODY_TOO_LARGE: { status: 413, exit: 2 },
  /** The body is of a kind that this endpoint does not take. */
  UNSUPPORTED_MEDIA_TYPE: { status: 415, exit: 2 },
  /** The request did not arrive in time. */
  REQUEST_TIMEOUT: { status: 408, exit: 4 },
  /** The server has as many connections as it takes. */
  TOO_BUSY: { status: 503, exit: 4 },
  /** Something went wrong that is nobody's input; the node's log says what. */
  INTERNAL: { status: 500, exit: 1 },
  /** The address to listen on is taken, or not this machine's. */
  ADDRESS_IN_USE: { status: 500, exit: 2 },
  /** Serving there would let anyone in. */
  ACCESS_OPEN: { status: 500, exit: 2 },
  /** No node answers at the address. */
  NODE_AWAY: { status: 503, exit: 4 },
  /** A command was called in a way that it does not understand. */
  USAGE: { status: 400, exit: 2 },
  /** An invariant of Holdfast itself is broken. The node fences itself. */
  BROKEN_INVARIANT: { status: 500, exit: 1 },
} as const satisfies Record<string, { status: number; exit: number }>;

/** The codes of all failures that Holdfast reports. */
export type ErrorCode = keyof typeof catalogue;

/** All of them, in the order of the catalogue. */
export const errorCodes = Object.keys(catalogue) as readonly ErrorCode[];

/** A failure that Holdfast reports: its code says what it is, its message what to do. */
export class HoldfastError extends Error {
  /** What it is, from the catalogue. */
  readonly code: ErrorCode;
  /** What a program may want to know of it. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: ErrorCode,
    message: string,
    options: { readonly cause?: unknown; readonly details?: Readonly<Record<string, unknown>> } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.details = options.details ?? {};
  }

  /** What HTTP makes of it. */
  get status(): number {
    return catalogue[this.code].status;
  }

  /** What a command line makes of it. */
  get exitCode(): number {
    return catalogue[this.code].exit;
  }
}

/** Thrown by every gate check of a node that does not lead, or cannot be sure that it does. */
export class NotLeaderError extends HoldfastError {
  constructor(message: string, details: Readonly<Record<string, unknown>> = {}) {
    super("NOT_LEADER", message, { details });
  }
}

/** The database refused a write stamped with an epoch that is no longer the role's. */
export class StaleEpochError extends HoldfastError {
  constructor(
    message: string,
    options: { readonly cause?: unknown; readonly details?: Readonly<Record<string, unknown>> } = {},
  ) {
    super("STALE_EPOCH", message, options);
  }
}

/** Work was refused because the node is draining. */
export class DrainingError extends HoldfastError {
  constructor(message = "This node is draining and admits no new work; send it to another node.") {
    super("DRAINING", message);
  }
}

/** Whether this is the failure of that code. */
export function isFailure(error: unknown, code: ErrorCode): boolean {
  return error instanceof HoldfastError && error.code === code;
}

/** What was thrown, in words: anything can be. */
export function errorText(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** States what must be true. A failure is a defect of Holdfast, never of its input. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new HoldfastError("BROKEN_INVARIANT", `Broken invariant: ${message}`);
}
