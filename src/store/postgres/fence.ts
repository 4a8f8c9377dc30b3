import { randomBytes } from "node:crypto";
import type pg from "pg";
import { HoldfastError, isFailure, StaleEpochError } from "../../errors.js";
import type { FenceToken } from "../contract.js";
import { answered } from "./answered.js";
import { sqlState, sqlStateOf, toHoldfastError } from "./sql-errors.js";

/**
 * R8: runs `fn` in a transaction that commits only while the token's epoch leads.
 *
 * The last round trip is the assert and COMMIT in one message, so that nothing is locked while this process thinks, and a
 * frozen one holds no takeover up. That takes the simple protocol, which has no parameters; the only values in the text
 * are a checked role name, two integers and our own hexadecimal nonce.
 */
export async function fencedTransaction<Result>(
  pool: pg.Pool,
  quotedSchema: string,
  { fence, key, own = false }: FencedBy,
  fn: (tx: pg.ClientBase) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect().catch((error: unknown) => {
    throw toHoldfastError(error, "starting a fenced transaction");
  });
  let broken = false;
  const onError = (): void => {
    broken = true;
  };
  client.on("error", onError);
  try {
    const stamp = nextStamp(fence);
    await answered(client, begin(client, stamp, own));
    const result = await (own ? answered(client, fn(client)) : fn(client));
    if (broken) {
      throw new HoldfastError(
        "DATABASE_AWAY",
        "The connection was lost before the transaction could commit: nothing of it was written.",
      );
    }
    const { role, epoch } = fence;
    const assertAndCommit = `call ${quotedSchema}.assert_transaction('${role}', ${epoch}, ${key}, '${stamp}'); commit`;
    await answered(client, commit(client, assertAndCommit, fence));
    return result;
  } catch (error) {
    if (isFailure(error, "UNKNOWN_OUTCOME")) broken = true;
    else if (!broken) broken = !(await rollback(client));
    throw error;
  } finally {
    client.off("error", onError);
    client.release(broken);
  }
}

export interface FencedBy {
  readonly fence: FenceToken;
  readonly key: string;
  /** Holdfast's own, and not a user's: it has a deadline, and an isolation level that is not the database's to choose. */
  readonly own?: boolean;
}

const processNonce = randomBytes(8).toString("hex");
let transactions = 0;

/**
 * How Holdfast's own transactions begin, in the level that they were written for. The planner thinks far more rows of them than there are, and
 * a server that compiles what it thinks expensive (`jit`, on by default) spent a second of a core on each of them, for a thousandth of that in work.
 */
export const beginOwn = "begin isolation level read committed; set local jit = off";

/** Names the fence and this very transaction: what \`protect\` captures, and the nonce. */
export function nextStamp({ role, epoch }: FenceToken): string {
  transactions += 1;
  return `${role}=${epoch}=${processNonce}-${transactions}`;
}

/** Waited for before the function runs: were BEGIN to fail alone, what follows would commit by itself, unfenced. */
async function begin(client: pg.ClientBase, stamp: string, own: boolean): Promise<void> {
  try {
    await client.query(`${own ? beginOwn : "begin"}; set local holdfast.fence = '${stamp}'`);
  } catch (error) {
    throw toHoldfastError(error, "starting a fenced transaction");
  }
}

async function commit(client: pg.ClientBase, assertAndCommit: string, { role, epoch }: FenceToken): Promise<void> {
  let results: pg.QueryResult[];
  try {
    results = (await client.query(assertAndCommit)) as unknown as pg.QueryResult[];
  } catch (error) {
    throw commitError(error, role, epoch);
  }
  // A transaction that had already failed answers COMMIT with ROLLBACK: that is no success.
  if (results.at(-1)?.command !== "COMMIT") {
    throw rolledBack();
  }
}

export function rolledBack(cause?: unknown): HoldfastError {
  const message = "The transaction was rolled back: one of its statements had failed before the function returned.";
  return new HoldfastError("DATABASE_REFUSED", message, { cause });
}

/** What went wrong with the fence is ours to say; what the user's own statements caused is passed on as it came. */
export function commitError(error: unknown, role: string, epoch: bigint): unknown {
  const state = sqlStateOf(error);
  if (state === null || state.startsWith("57P") || state.startsWith("08")) {
    return new HoldfastError(
      "UNKNOWN_OUTCOME",
      "The reply to COMMIT was lost: the transaction may or may not have committed. Look it up before trying again.",
      { cause: error },
    );
  }
  if (state === sqlState.inFailedTransaction) return rolledBack(error);
  const byAssert = /assert_(transaction|epoch)/.test((error as pg.DatabaseError).where ?? "");
  if (state === sqlState.serializationFailure && byAssert) {
    // Under REPEATABLE READ the assert meets a row that a takeover changed after this transaction's snapshot.
    return new StaleEpochError(`epoch ${epoch} of role ${role} is over`, { cause: error });
  }
  return state.startsWith("HF") ? toHoldfastError(error, "committing a fenced transaction") : error;
}

/** It has nothing to wait for but the wire. */
const rollbackMs = 5_000;

export async function rollback(client: pg.ClientBase): Promise<boolean> {
  try {
    await answered(client, client.query("rollback"), rollbackMs);
    return true;
  } catch {
    return false; // The connection is of no more use; the pool drops it.
  }
}
