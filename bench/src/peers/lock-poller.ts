import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { takeOrders, tell } from "../processes/parent.js";

/**
 * A design that is in use today: each process tries for one advisory lock every 5 s, and whoever has it leads. It has no
 * epoch, so a leader that lost its session and does not know yet writes on unhindered.
 */
const checkIntervalMs = 5_000;

export function run(url: string): void {
  takeOrders(async (order) => {
    if (order.kind !== "contend") return;
    const client = new pg.Client({ connectionString: url, application_name: "lock poller" });
    await client.connect();
    tell({ kind: "waiting" });
    for (;;) {
      const { rows } = await client.query<{ got: boolean }>("select pg_try_advisory_lock($1) as got", [order.key]);
      if (rows[0]?.got === true) break;
      await pause(checkIntervalMs);
    }
    tell({ kind: "leads", at: process.hrtime.bigint() });
  });
}
