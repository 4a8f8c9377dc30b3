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
 * 409 NOT_LEADER with the leader's URL, before it has read the body. An order that comes just when leadership ends is
 * refused by the database (see orders.mjs), and its caller has a 409 all the same.
 */
import { serve } from "@hono/node-server";
import { errorAnswer, leaderGuard, roleHeaders } from "holdfast/http";
import { Hono } from "hono";
import { startOrders } from "./orders.mjs";

const { node, role, takeOrder, stopWith, port, publicUrl } = await startOrders();

/** @param {import("holdfast/http").Answer} answer */
const respond = ({ status, headers, body }) => Response.json(body, { status, headers });

const app = new Hono();

app.use(async (context, next) => {
  await next();
  for (const [name, value] of Object.entries(roleHeaders(node, role))) context.res.headers.set(name, value);
});

app.get("/orders", (context) => context.json({ answered_by: node.id }));

// The guard stands before the handler, so a standby reads no body.
app.post(
  "/orders",
  async (_context, next) => {
    const refusal = leaderGuard(node, role);
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

const server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port }, () => console.log(`listening on ${publicUrl}`));

stopWith(() => server.close());
