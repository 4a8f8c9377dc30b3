import "pino";
import "../holdfast.js";
import pg from "pg";
import { takeOrders, tell } from "../processes/parent.js";

/**
 * The floor: one session that waits for an advisory lock and does nothing else. No lease, no fence, no epoch. Its process
 * loads what a node's loads, and uses none of it: the kernel takes a larger process down more slowly (1 ms in 5), and that is
 * no part of a protocol.
 */
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
