// @ts-check
/**
 * Writes that only the leader can commit, checked by the database and not by the writer.
 *
 * Start it twice, freeze the one that writes, wait for the other to take over, and wake the first:
 *
 *   npm run build
 *   node examples/fenced-writer.mjs postgres://user@localhost/app     (or set DATABASE_URL)
 *   kill -STOP <pid>    ... the other leads after the lease has run out ...    kill -CONT <pid>
 *
 * The writer that slept still believes it is in the middle of a transaction. It goes on, and its COMMIT is refused:
 * STALE_EPOCH, and nothing of that transaction is in the table (G1). No clock takes part in that.
 */
import { setTimeout as pause } from "node:timers/promises";
import { createNode, StaleEpochError } from "holdfast";
import pg from "pg";

const url = process.argv[2] ?? process.env.DATABASE_URL;
if (!url) {
  console.error("usage: node examples/fenced-writer.mjs postgres://user@host/database");
  process.exit(2);
}

// A pool of one's own. Sessions of a pool that Holdfast opened would be ended by the successor of a frozen leader, before
// the fence could show what it does.
const pool = new pg.Pool({ connectionString: url });
pool.on("error", (error) => console.error(`pool: ${error.message}`));
const node = await createNode({ store: { pool }, cluster: { enabled: true } });
const stop = () => void node.close().then(() => pool.end());
process.once("SIGTERM", stop);
process.once("SIGINT", stop);

const ledger = node.role("ledger");
console.log(`standing by as ${node.id}, pid ${process.pid}`);

ledger.lead(async (term) => {
  console.log(`leading under epoch ${term.epoch}`);
  await term.transaction((tx) =>
    tx.query(
      `create table if not exists ledger_entries (
         id bigint generated always as identity primary key, epoch bigint not null, text text not null)`,
    ),
  );
  for (let n = 1; !term.signal.aborted; n += 1) await write(term, `entry ${n} of epoch ${term.epoch}`);
});

/**
 * @param {import("holdfast").LeaderTerm<import("pg").ClientBase>} term
 * @param {string} text
 */
async function write(term, text) {
  try {
    await term.transaction(async (tx) => {
      await tx.query("insert into ledger_entries (epoch, text) values ($1, $2)", [term.epoch, text]);
      console.log(`writing ${text}`);
      // Work that takes its time: the moment in which a process is frozen, or its network cut.
      await pause(100);
    });
    console.log(`wrote ${text}`);
  } catch (error) {
    if (error instanceof StaleEpochError) {
      console.log(`refused ${text}: ${error.code}`);
      throw error;
    }
    if (term.signal.aborted) throw error;
    console.error(`not written: ${error instanceof Error ? error.message : String(error)}`);
    await pause(200, undefined, { signal: term.signal });
  }
}
