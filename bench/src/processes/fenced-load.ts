import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { roleName, type ToProcess } from "../messages.js";
import { takeOrders, tell } from "./parent.js";

/**
 * 16 clients that commit fenced transactions in a tight loop, in plain SQL, as a program in any language may. They belong to
 * no node: a takeover has to get past them, they are told that their epoch is over, and go on under the new one.
 */
const clients = 16;
/** After so many commits the load counts as running. */
const warmCommits = 100;

let running = false;
let commits = 0;
let ended: Promise<unknown> = Promise.resolve();

export function run(url: string): void {
  takeOrders((order) => carryOut(url, order));
}

async function carryOut(url: string, order: ToProcess): Promise<void> {
  if (order.kind === "run") {
    running = true;
    commits = 0;
    ended = Promise.all(Array.from({ length: clients }, () => commitInALoop(url)));
    await ended;
  } else if (order.kind === "stop") {
    running = false;
    await ended;
    tell({ kind: "stopped", commits });
  }
}

async function commitInALoop(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  let epoch = await epochOf(client);
  while (running) {
    try {
      await client.query(
        `begin; insert into fenced_rows (payload) values ('x'); select holdfast.assert_epoch('${roleName}', ${epoch}); commit`,
      );
      commits += 1;
      if (commits === warmCommits) tell({ kind: "running" });
    } catch (error) {
      await client.query("rollback");
      if ((error as pg.DatabaseError).code !== "HF001") throw error;
      epoch = await epochOf(client);
    }
  }
  await client.end();
}

async function epochOf(client: pg.Client): Promise<string> {
  for (;;) {
    const { rows } = await client.query<{ epoch: string }>(
      "select epoch::text from holdfast.leases where role = $1 and epoch > 0",
      [roleName],
    );
    if (rows[0] !== undefined) return rows[0].epoch;
    await pause(10);
  }
}
