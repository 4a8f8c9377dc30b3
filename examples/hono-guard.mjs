// @ts-check
/**
 * A Hono server of several replicas, of which the leader alone takes orders.
 *
 * Start it twice, and send an order to each:
 *
 *   npm run build
 *   node examples/hono-guard.mjs 3001 postgres://user@localhost/app     (or set DATABASE_URL)
 *   node examples/hono-guard.mjs 3002 postgres://user@localhost/app
 *   curl -i -X POST localhost:3001/orders -H 'content-type: application/json' -d '{ "item": "tea" }'
 *
 * Every replica answers reads, and says in its headers who leads. Only the leader takes an order; another replica answers
 * 409 NOT_LEADER with the leader's URL, before it has read the body. The guard is a look at a clock, and leadership can end
 * a moment later: so the order is written in a fenced transaction, which the database refuses then (G1), and the caller
 * has a 409 all the same.
 */
import { serve } from "@hono/node-server";
import { createNode, NotLeaderError } from "holdfast";
import { errorAnswer, leaderGuard, roleHeaders } from "holdfast/http";
import { Hono } from "hono";

const [port = "3000", url = process.env.DATABASE_URL] = process.argv.slice(2);
if (!url) {
  console.error("usage: node examples/hono-guard.mjs port postgres://user@host/database");
  process.exit(2);
}

const publicUrl = `http://127.0.0.1:${port}`;
const node = await createNode({
  store: { url },
  cluster: { enabled: true, primaryRole: "orders" },
  api: { publicUrl },
});
const orders = node.role("orders");

/** @type {import("holdfast").LeaderTerm<import("pg").ClientBase> | null} */
let term = null;
orders.lead(async (current) => {
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
  if (term === null) throw new NotLeaderError("This replica has not led yet.", { role: orders.name });
  const { epoch } = term;
  const { rows } = await term.transaction((tx) =>
    tx.query("insert into orders (item, epoch) values ($1, $2) returning id::int", [String(item), epoch]),
  );
  return { id: rows[0].id, epoch: Number(epoch) };
}

/** @param {import("holdfast/http").Answer} answer */
const respond = ({ status, headers, body }) => Response.json(body, { status, headers });

const app = new Hono();

app.use(async (context, next) => {
  await next();
  for (const [name, value] of Object.entries(roleHeaders(node, orders.name))) context.res.headers.set(name, value);
});

app.get("/orders", (context) => context.json({ answered_by: node.id }));

// The guard stands before the handler, so a standby reads no body.
app.post(
  "/orders",
  async (_context, next) => {
    const refusal = leaderGuard(node, orders.name);
    if (refusal !== null) return respond(refusal);
    await next();
  },
  async (context) => {
    const { item } = await context.req.json();
    return context.json(await takeOrder(item), 201);
  },
);

app.onError((error) => {
  const answer = errorAnswer(error, node);
  if (answer !== null) return respond(answer);
  console.error(error);
  return Response.json({ error: "INTERNAL" }, { status: 500 });
});

const server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port: Number(port) }, () =>
  console.log(`listening on ${publicUrl}`),
);

const stop = () => void node.close().then(() => server.close());
process.once("SIGTERM", stop);
process.once("SIGINT", stop);
