// @ts-check
/**
 * A Fastify server of several replicas, of which the leader alone takes orders.
 *
 * Start it twice, and send an order to each:
 *
 *   npm run build
 *   node examples/fastify-guard.mjs 3001 postgres://user@localhost/app     (or set DATABASE_URL)
 *   node examples/fastify-guard.mjs 3002 postgres://user@localhost/app
 *   curl -i -X POST localhost:3001/orders -H 'content-type: application/json' -d '{ "item": "tea" }'
 *
 * Every replica answers reads, and says in its headers who leads. Only the leader takes an order; another replica answers
 * 409 NOT_LEADER with the leader's URL, before it has read the body. An order that comes just when leadership ends is
 * refused by the database (see orders.mjs), and its caller has a 409 all the same.
 */
import { fastify } from "fastify";
import { holdfast } from "holdfast/fastify";
import { errorAnswer } from "holdfast/http";
import { startOrders } from "./orders.mjs";

const { node, role, takeOrder, stopWith, port, publicUrl } = await startOrders();

const app = fastify();

// Puts the headers on every answer, and adds app.leaderOnly.
await app.register(holdfast, { node });

app.setErrorHandler((error, _request, reply) => {
  const answer = errorAnswer(error, node);
  // What is not Holdfast's is Fastify's to answer.
  return answer === null ? reply.send(error) : reply.code(answer.status).headers(answer.headers).send(answer.body);
});

app.get("/orders", async () => ({ answered_by: node.id }));

app.post("/orders", { onRequest: app.leaderOnly(role) }, async (request, reply) => {
  const { item } = /** @type {{ item: unknown }} */ (request.body);
  reply.code(201);
  return await takeOrder(item);
});

await app.listen({ host: "127.0.0.1", port });
console.log(`listening on ${publicUrl}`);

stopWith(() => app.close());
