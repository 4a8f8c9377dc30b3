// @ts-check
/**
 * An Express server of several replicas, of which the leader alone takes orders.
 *
 * Start it twice, and send an order to each:
 *
 *   npm run build
 *   node examples/express-guard.mjs 3001 postgres://user@localhost/app     (or set DATABASE_URL)
 *   node examples/express-guard.mjs 3002 postgres://user@localhost/app
 *   curl -i -X POST localhost:3001/orders -H 'content-type: application/json' -d '{ "item": "tea" }'
 *
 * Every replica answers reads, and says in its headers who leads. Only the leader takes an order; another replica answers
 * 409 NOT_LEADER with the leader's URL, before it has read the body. The guard is a look at a clock, and leadership can end
 * a moment later: so the order is written in a fenced transaction, which the database refuses then (G1), and the caller
 * has a 409 all the same.
 */
import express from "express";
import { createNode, NotLeaderError } from "holdfast";
import { errorAnswer, leaderGuard, roleHeaders } from "holdfast/http";

const [port = "3000", url = process.env.DATABASE_URL] = process.argv.slice(2);
if (!url) {
  console.error("usage: node examples/express-guard.mjs port postgres://user@host/database");
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

const app = express();

app.use((_request, response, next) => {
  response.set(roleHeaders(node, orders.name));
  next();
});

/** @type {import("express").RequestHandler} */
const leaderOnly = (_request, response, next) => {
  const refusal = leaderGuard(node, orders.name);
  if (refusal === null) next();
  else response.status(refusal.status).set(refusal.headers).json(refusal.body);
};

app.get("/orders", (_request, response) => {
  response.json({ answered_by: node.id });
});

// The guard stands before express.json(), so a standby reads no body.
app.post("/orders", leaderOnly, express.json(), async (request, response) => {
  response.status(201).json(await takeOrder(request.body.item));
});

/** @type {import("express").ErrorRequestHandler} */
const onError = (error, _request, response, next) => {
  const answer = errorAnswer(error, node);
  if (answer === null) next(error);
  else response.status(answer.status).set(answer.headers).json(answer.body);
};
app.use(onError);

const server = app.listen(Number(port), "127.0.0.1", () => console.log(`listening on ${publicUrl}`));

const stop = () => void node.close().then(() => server.close());
process.once("SIGTERM", stop);
process.once("SIGINT", stop);
