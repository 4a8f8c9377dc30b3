import pg from "pg";
import { takeOrders, tell } from "../processes/parent.js";
import { bodyOf } from "../queue/queue-load.js";

const insert = { name: "bare_insert", text: "insert into bare_inserts (body) values ($1)" };

/** The least that a message costs which is on disk before anybody is told: each a transaction of its own, over so many sessions. */
export function run(url: string): void {
  const pool = new pg.Pool({ connectionString: url, max: 200 });
  takeOrders(async (order) => {
    if (order.kind !== "insert") return;
    const { rows, sessions } = order;
    await pool.query(
      "create table if not exists bare_inserts (id bigint generated always as identity primary key, body text)",
    );
    const clients = await Promise.all(Array.from({ length: sessions }, () => pool.connect()));
    let left = rows;
    const from = performance.now();
    await Promise.all(
      clients.map(async (client) => {
        while (left > 0) {
          left -= 1;
          await client.query({ ...insert, values: [bodyOf(left)] });
        }
      }),
    );
    const ms = performance.now() - from;
    for (const client of clients) client.release();
    tell({ kind: "inserted", ms });
  });
}
