// @ts-check
/**
 * What the three guard examples have in common: a replica that contends for the role "orders", and an order that only its
 * leader can take. Each of them adds a web framework.
 *
 * A guard is a look at a clock, and leadership can end a moment later: so the order is written in a fenced transaction,
 * which the database refuses then (G1).
 */
import { basename } from "node:path";
import { createNode, NotLeaderError } from "holdfast";

const role = "orders";

/** Starts the replica that the command line asks for: a port, and a database. */
export async function startOrders() {
  const [, script = "", port = "3000", url = process.env.DATABASE_URL] = process.argv;
  if (!url) {
    console.error(`usage: node examples/${basename(script)} port postgres://user@host/database`);
    process.exit(2);
  }
  const publicUrl = `http://127.0.0.1:${port}`;
  const node = await createNode({
    store: { url },
    cluster: { enabled: true, primaryRole: role },
    // Where the others send their callers while this replica leads.
    api: { publicUrl },
  });

  /** @type {import("holdfast").LeaderTerm<import("pg").ClientBase> | null} */
  let term = null;
  node.role(role).lead(async (current) => {
    await current.transaction((tx) =>
      tx.query("create table if not exists orders (id bigint generated always as identity, item text, epoch bigint)"),
    );
    term = current;
    console.log(`leading under epoch ${current.epoch}`);
  });

  /**
   * @param {unknown} item
   * @returns {Promise<{ id: number, epoch: number }>}
   */
  async function takeOrder(item) {
    // A term that is over is kept on purpose: it refuses, and null would have to be refused by hand.
    if (term === null) throw new NotLeaderError("This replica has not led yet.", { role });
    const { epoch } = term;
    const { rows } = await term.transaction((tx) =>
      tx.query("insert into orders (item, epoch) values ($1, $2) returning id::int", [String(item), epoch]),
    );
    return { id: rows[0].id, epoch: Number(epoch) };
  }

  /**
   * Gives the role up before the port closes, so that nobody asks a leader who is not there.
   * @param {() => unknown} closeServer
   */
  function stopWith(closeServer) {
    const stop = () => void node.close().then(closeServer);
    process.once("SIGTERM", stop);
    process.once("SIGINT", stop);
  }

  return { node, role, takeOrder, stopWith, port: Number(port), publicUrl };
}
