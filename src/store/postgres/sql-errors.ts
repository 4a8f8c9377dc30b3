import { errorText, HoldfastError, StaleEpochError } from "../../errors.js";

/**
 * Database errors are told apart here, once, by their SQLSTATE. Above the store nobody sees one.
 * Our own functions raise class HF; see migrations/0001_election.sql.
 */
export const sqlState = {
  staleEpoch: "HF001",
  transactionEscaped: "HF002",
  unknownRole: "HF003",
  lockKeyMismatch: "HF005",
  unknownNode: "HF006",
  noLeader: "HF007",
  nodeGone: "HF008",
  tokenNameTaken: "HF009",
  claimGone: "HF010",
  cronChanged: "HF011",
  planUntimely: "HF012",
  unknownCron: "HF013",
  uniqueViolation: "23505",
  foreignKeyViolation: "23503",
  serializationFailure: "40001",
  lockNotAvailable: "55P03",
  readOnly: "25006",
  insufficientPrivilege: "42501",
  inFailedTransaction: "25P02",
  invalidParameterValue: "22023",
} as const;

export function sqlStateOf(error: unknown): string | null {
  // By its shape: the pool may be the application's, from another copy of the driver.
  const { code, severity } = (error ?? {}) as { readonly code?: unknown; readonly severity?: unknown };
  return typeof severity === "string" && typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : null;
}

const awayCodes = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ETIMEDOUT",
  "EPIPE",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOENT",
]);

/** Turns whatever the driver threw into an error of the catalogue, keeping the cause. Passwords never enter the message. */
export function toHoldfastError(error: unknown, doing: string): HoldfastError {
  if (error instanceof HoldfastError) return error;
  const state = sqlStateOf(error);
  const said = errorText(error);
  if (state === null) {
    const code = (error as { code?: string } | null)?.code ?? "";
    if (code === "" && isMistake(error)) {
      const message = `This code is at fault, and no database, while ${doing}: ${said}`;
      return new HoldfastError("BROKEN_INVARIANT", message, { cause: error });
    }
    const mistrust = tlsRefusal(code, said);
    if (mistrust !== null) {
      return new HoldfastError("DATABASE_REFUSED", `No TLS with the database while ${doing} (${said}): ${mistrust}`, {
        cause: error,
      });
    }
    // The driver's own words, where the server asks for a password and there is none.
    if (said.includes("password must be a string")) {
      const missing = "it asks for a password, and none was given; set HOLDFAST_STORE_PASSWORD, or one in the URL.";
      return new HoldfastError("DATABASE_REFUSED", `Cannot log in to the database while ${doing}: ${missing}`, {
        cause: error,
      });
    }
    const known = awayCodes.has(code);
    const hint =
      known || said.includes("timeout") ? "is the server up, and the address right?" : "the connection was lost";
    return new HoldfastError("DATABASE_AWAY", `Cannot reach the database while ${doing} (${said || code}): ${hint}`, {
      cause: error,
    });
  }
  switch (state) {
    case sqlState.staleEpoch:
      return new StaleEpochError(said, { cause: error, details: staleDetails(said) });
    case sqlState.transactionEscaped:
      return new HoldfastError(
        "TRANSACTION_ESCAPED",
        "The function given to term.transaction ended the transaction by itself (COMMIT, ROLLBACK); leave that to Holdfast.",
        { cause: error },
      );
    case sqlState.unknownRole:
      return new HoldfastError("UNKNOWN_ROLE", said, { cause: error });
    case sqlState.unknownNode:
      return new HoldfastError("UNKNOWN_NODE", `${sentence(said)}.`, { cause: error });
    case sqlState.noLeader:
      return new HoldfastError("NO_LEADER", `${sentence(said)} now: wait for an election, then ask again.`, {
        cause: error,
      });
    case sqlState.nodeGone:
      return new HoldfastError("NODE_GONE", `${sentence(said)}, so nobody is there to act.`, { cause: error });
    case sqlState.tokenNameTaken:
      return new HoldfastError("REFUSED", `${sentence(said)}: revoke it first, or choose another name.`, {
        cause: error,
      });
    case sqlState.lockKeyMismatch:
      return new HoldfastError("BAD_SETTINGS", `${said}: pin the same lock_key on every node.`, { cause: error });
    case sqlState.readOnly:
      return new HoldfastError(
        "DATABASE_READ_ONLY",
        `The database accepts no writes while ${doing}: it is a replica, or set to read-only. Point store.url at the primary.`,
        { cause: error },
      );
  }
  // Class 08: the connection; 57P0x: shutdown, crash, start-up; 53300: no connection left. All of them pass.
  if (state.startsWith("08") || state.startsWith("57P") || state === "53300") {
    return new HoldfastError("DATABASE_AWAY", `The database is not available while ${doing}: ${said} (${state}).`, {
      cause: error,
    });
  }
  return new HoldfastError("DATABASE_REFUSED", `The database refused while ${doing}: ${said} (${state}).`, {
    cause: error,
  });
}

/** What only a mistake in a program throws: no waiting mends it. */
function isMistake(error: unknown): boolean {
  return [TypeError, RangeError, ReferenceError, SyntaxError].some((kind) => error instanceof kind);
}

/** What is wrong with the server's TLS, and the way out: nothing that waiting mends. Node passes OpenSSL's names on. */
function tlsRefusal(code: string, said: string): string | null {
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return "its certificate is for another name than the one in store.url.";
  if (/CERT|SIGNATURE|ISSUER/.test(code)) return "its certificate is not trusted; name its authority in store.tls_ca.";
  if (code.startsWith("ERR_SSL_")) return "it speaks another TLS than this node.";
  if (said.includes("does not support SSL")) return "switch TLS on at the server.";
  return null;
}

/** The epochs, for the answer of an API: `assert_epoch` says both in its message. */
function staleDetails(said: string): Readonly<Record<string, unknown>> {
  const [, got, expected] = /^epoch (\d+) of role \S+ is over: (\d+) leads now/.exec(said) ?? [];
  if (got === undefined || expected === undefined) return {};
  return { field: "leader_epoch", expected: Number(expected), got: Number(got) };
}

const sentence = (said: string): string => said.charAt(0).toUpperCase() + said.slice(1);
