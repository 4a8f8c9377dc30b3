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
 * 409 NOT_LEADER with the leader's URL, before it has read the body. An order that comes just when leadership ends is
 * refused by the database (see orders.mjs), and its caller has a 409 all the same.
 */
import express from "express";
import { errorAnswer, leaderGuard, roleHeaders } from "holdfast/http";
import { startOrders } from "./orders.mjs";

const { node, role, takeOrder, stopWith, port, publicUrl } = await startOrders();

const app = express();

app.use((_request, response, next) => {
  response.set(roleHeaders(node, role));
  next();
});

/** @type {import("express").RequestHandler} */
const leaderOnly = (_request, response, next) => {
  const refusal = leaderGuard(node, role);
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

const server = app.listen(port, "127.0.0.1", () => console.log(`listening on ${publicUrl}`));

stopWith(() => server.close());
