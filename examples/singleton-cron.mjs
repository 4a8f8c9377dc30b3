// @ts-check
/**
 * A cron that runs once, however many replicas there are.
 *
 * Start it three times, on a PostgreSQL of yours, and kill the one that ticks:
 *
 *   npm run build
 *   node examples/singleton-cron.mjs postgres://user@localhost/app     (or set DATABASE_URL)
 *
 * Each second one replica runs the tick and records it, in one fenced transaction. What that promises:
 * - no second has two ticks: the table's key says so, and the work shares the transaction of its row;
 * - a replica that was deposed records nothing more: its commit is refused (G1), so epochs never go back from row to row;
 * - a second may have no tick, when nobody led in it. A cron that must catch up reads the table to see what is missing.
 */
import { setTimeout as pause } from "node:timers/promises";
import { createNode, StaleEpochError } from "holdfast";

const url = process.argv[2] ?? process.env.DATABASE_URL;
if (!url) {
  console.error("usage: node examples/singleton-cron.mjs postgres://user@host/database");
  process.exit(2);
}

const node = await createNode({ store: { url }, cluster: { enabled: true } });
process.once("SIGTERM", () => void node.close());
process.once("SIGINT", () => void node.close());

const cron = node.role("cron");
console.log(`standing by as ${node.id}`);

cron.lead(async (term) => {
  console.log(`leading under epoch ${term.epoch}`);
  await term.transaction((tx) =>
    tx.query(
      "create table if not exists cron_ticks (tick timestamptz primary key, epoch bigint not null, node_id text)",
    ),
  );
  while (!term.signal.aborted) {
    const waitMs = await tick(term);
    // Aborted when leadership ends. The error that throws then is expected, and ends this function.
    await pause(waitMs, undefined, { signal: term.signal });
  }
});

/**
 * Runs the tick of this second, if nobody has, and answers how long it is to the next. Seconds are the database's: the
 * clocks of the replicas may differ.
 *
 * @param {import("holdfast").LeaderTerm<import("pg").ClientBase>} term
 * @returns {Promise<number>}
 */
async function tick(term) {
  try {
    const { ticked, waitMs } = await term.transaction(async (tx) => {
      const { rows } = await tx.query(
        `insert into cron_ticks (tick, epoch, node_id) values (date_trunc('second', clock_timestamp()), $1, $2)
         on conflict (tick) do nothing returning tick`,
        [term.epoch, node.id],
      );
      if (rows.length > 0) {
        // The work of the tick goes here, through `tx`: it commits with the row or not at all.
      }
      const next = await tx.query("select 1000 - (extract(epoch from clock_timestamp()) * 1000)::bigint % 1000 as ms");
      return { ticked: rows[0]?.tick, waitMs: Number(next.rows[0].ms) };
    });
    if (ticked) console.log(`tick ${ticked.toISOString()} under epoch ${term.epoch}`);
    return waitMs;
  } catch (error) {
    // Refused for good: another replica leads. Anything else (the database restarts, the gate is shut for a moment)
    // may pass while this term lives, so it is no reason to give the role up.
    if (error instanceof StaleEpochError || term.signal.aborted) throw error;
    console.error(`no tick: ${error instanceof Error ? error.message : String(error)}`);
    return 200;
  }
}
