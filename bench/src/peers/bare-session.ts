import pg from "pg";
import { takeOrders, tell } from "../processes/parent.js";

/** The floor: one session that waits for an advisory lock and does nothing else. No lease, no fence, no epoch. */
export function run(url: string): void {
  takeOrders(async (order) => {
    if (order.kind !== "contend") return;
    const client = new pg.Client({ connectionString: url, application_name: "bare session" });
    await client.connect();
    tell({ kind: "waiting" });
    await client.query("select pg_advisory_lock($1)", [order.key]);
    tell({ kind: "leads", at: process.hrtime.bigint() });
  });
}
