import pg from "pg";
import { HoldfastError, isFailure } from "../../errors.js";
import { answered } from "./answered.js";
import { beginOwn, commitError, type FencedBy, nextStamp, rollback, rolledBack } from "./fence.js";
import { toHoldfastError } from "./sql-errors.js";

/** Statements that need no answer from one another. Their values are in their texts, so each has to be a literal. */
export interface TransactionMessage {
  readonly statements: readonly string[];
  /** The data of the one statement that is a `COPY ... FROM STDIN`. */
  readonly copyIn?: Buffer;
}

export interface MessageReply {
  readonly results: readonly pg.QueryResult[];
  /** What a `COPY ... TO STDOUT` sent, a row each. */
  readonly copied: readonly Buffer[];
}

/**
 * R8 in one round trip: a whole transaction in one message, from BEGIN to the assert and COMMIT. The server stops at the first
 * statement of a message that fails, so none of them can commit by itself when BEGIN does; and a pooler that hands out
 * connections by the transaction has nothing to get in between.
 *
 * As COMMIT is on its way from the start, a reply that is lost always leaves the outcome unknown.
 */
export async function fencedMessage(
  pool: pg.Pool,
  quotedSchema: string,
  { fence, key }: FencedBy,
  { statements, copyIn }: TransactionMessage,
): Promise<MessageReply> {
  const client = await pool.connect().catch((error: unknown) => {
    throw toHoldfastError(error, "starting a fenced transaction");
  });
  const { role, epoch } = fence;
  const stamp = nextStamp(fence);
  const text = [
    beginOwn,
    `set local holdfast.fence = '${stamp}'`,
    ...statements,
    `call ${quotedSchema}.assert_transaction('${role}', ${epoch}, ${key}, '${stamp}')`,
    "commit",
  ].join(";\n");
  let broken = false;
  const onError = (): void => {
    broken = true;
  };
  client.on("error", onError);
  try {
    const reply = await answered(client, send(client, text, copyIn ?? null));
    if (reply.results.at(-1)?.command !== "COMMIT") throw rolledBack();
    return reply;
  } catch (error) {
    const told = error instanceof HoldfastError ? error : commitError(error, role, epoch);
    if (isFailure(told, "UNKNOWN_OUTCOME")) broken = true;
    else if (!broken) broken = !(await rollback(client));
    throw told;
  } finally {
    client.off("error", onError);
    client.release(broken);
  }
}

function send(client: pg.ClientBase, text: string, copyIn: Buffer | null): Promise<MessageReply> {
  return new Promise((resolve, reject) => {
    const query = new CopyingQuery(text, copyIn, (error, results) => {
      if (error) reject(error);
      else resolve({ results: Array.isArray(results) ? results : [results], copied: query.copied });
    });
    client.query(query);
  });
}

/** What the driver's types leave out. */
interface CopyConnection extends pg.Connection {
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
  sendCopyFail(reason: string): void;
}

type Reply = (error: Error | null | undefined, results: pg.QueryResult | pg.QueryResult[]) => void;

const submitQuery = pg.Query.prototype.submit as (connection: pg.Connection) => Error | null;

/** The driver's own query, which knows what COPY is but not what to do about it. */
class CopyingQuery extends pg.Query {
  readonly copied: Buffer[] = [];
  private readonly copyIn: Buffer | null;

  constructor(text: string, copyIn: Buffer | null, reply: Reply) {
    super(text, reply as never);
    this.copyIn = copyIn;
  }

  /**
   * The data goes along, and not when the server asks for it: that would be another round trip within the transaction. Where a
   * statement before it fails the server passes over it, as the protocol says.
   */
  override readonly submit = (connection: pg.Connection): Error | null => {
    connection.stream.cork();
    try {
      const refused = submitQuery.call(this, connection);
      if (this.copyIn !== null && refused === null) {
        const copying = connection as CopyConnection;
        copying.sendCopyFromChunk(this.copyIn);
        copying.endCopyFrom();
      }
      return refused;
    } finally {
      connection.stream.uncork();
    }
  };

  handleCopyInResponse(connection: CopyConnection): void {
    if (this.copyIn === null) connection.sendCopyFail("there is nothing to copy");
  }

  /** A row each (so says the protocol), in memory that the driver uses again. */
  handleCopyData({ chunk }: { readonly chunk: Buffer }): void {
    this.copied.push(Buffer.from(chunk));
  }
}
