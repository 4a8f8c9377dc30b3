import type pg from "pg";
import { within } from "../../lifecycle/within.js";
import { toHoldfastError } from "./sql-errors.js";

/** Asks the database over a pool, each question with a deadline, and with errors of the catalogue. */
export interface Questions {
  readonly schema: string;
  ask<Result>(doing: string, ask: (client: pg.PoolClient) => Promise<Result>, timeoutMs?: number): Promise<Result>;
  /** The rows of one statement. */
  rows<Row extends pg.QueryResultRow>(doing: string, text: string, values?: readonly unknown[]): Promise<Row[]>;
}

const askTimeoutMs = 10_000;
/** For what takes as long as it takes: a migration. */
export const noTimeout = 2 ** 31 - 1;

/** `schema` is quoted already. */
export function questionsOver(pool: pg.Pool, schema: string): Questions {
  // The end of a session may come in one packet with its welcome, before whoever asked for it has it in hand.
  pool.on("connect", (client) => client.on("error", () => undefined));
  const questions: Questions = {
    schema,
    async ask(doing, ask, timeoutMs = askTimeoutMs) {
      let client: pg.PoolClient | null = null;
      let failed = false;
      // The end of a session may come in one packet with the answer; without a listener it would end the process.
      const ignored = (): void => {
        failed = true;
      };
      const asked = pool.connect().then((connected) => {
        client = connected;
        connected.on("error", ignored);
        return ask(connected);
      });
      // Whatever the connection still carries: the pool drops it, also one that comes when nobody waits any more.
      const release = (): void => {
        client?.off("error", ignored);
        client?.release(failed);
      };
      try {
        return await within(timeoutMs, asked, () => {
          throw new Error(`no answer within ${timeoutMs} ms: timeout`);
        });
      } catch (error) {
        failed = true;
        throw toHoldfastError(error, doing);
      } finally {
        if (client === null) asked.then(release, release);
        else release();
      }
    },
    rows: (doing, text, values = []) =>
      questions.ask(doing, async (client) => (await client.query<never>(text, [...values])).rows),
  };
  return questions;
}
