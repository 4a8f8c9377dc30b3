import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { takeOrders, tell } from "../processes/parent.js";

/**
 * The other design in use today, with the defaults of Kubernetes' client-go: a lease of 15 s, which its holder renews every
 * 2 s and for which the others look every 2 s. A crash is waited out for the rest of the lease.
 */
const leaseSeconds = 15;
const retryMs = 2_000;

const takeOrRenew = `
  insert into row_leases (key, holder, expires_at) values ($1, $2, clock_timestamp() + $3 * interval '1 second')
  on conflict (key) do update set holder = excluded.holder, expires_at = excluded.expires_at
  where row_leases.holder = excluded.holder or row_leases.expires_at < clock_timestamp()`;

export function run(url: string): void {
  takeOrders(async (order) => {
    if (order.kind !== "contend") return;
    const client = new pg.Client({ connectionString: url, application_name: "row lease" });
    await client.connect();
    tell({ kind: "waiting" });
    let leads = false;
    for (;;) {
      const { rowCount } = await client.query(takeOrRenew, [order.key, process.pid, leaseSeconds]);
      if (rowCount === 1 && !leads) tell({ kind: "leads", at: process.hrtime.bigint() });
      leads = rowCount === 1;
      await pause(retryMs);
    }
  });
}
