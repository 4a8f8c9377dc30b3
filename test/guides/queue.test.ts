import { expect, it } from "vitest";
import { blocksOf, Guide, patience } from "../support/guide.js";
import { createTestDatabase } from "../support/postgres.js";

const block = blocksOf("queue");

const shop = `
export const ship = async (order, { idempotencyKey }) => console.log("shipped", order.item, "as", idempotencyKey);
`;
const feed = `
export const routeOf = (body) => body.toString().split(" ")[0];
export const transform = (body) => body.toString().toUpperCase();
export const send = async (lane, body) => console.log("sent", body.toString(), "to", lane);
`;
const handler = `
import { isMainThread } from "node:worker_threads";
export default async ({ body }) => console.log("thread", !isMainThread, body.toString());
`;
/** What somebody would do with the queues that the guide makes. */
const use = `
await Promise.all([feed.opened(), pictures.opened()]);
await feed.enqueue({ lane: "in", body: "lab potassium" });
await pictures.enqueue({ lane: "p", body: "a picture" });
await orders.enqueue({ lane: "customer-7", body: JSON.stringify({ item: 12 }), key: "order-4711" });
console.log("all in");
`;

it("queues are made, filled and worked on, in stages and in threads", patience, async () => {
  await using database = await createTestDatabase();
  await using guide = await Guide.open("queue", { DATABASE_URL: database.url });
  await guide.write("shop.mjs", shop);
  await guide.write("feed.mjs", feed);
  await guide.write("handler.js", handler);
  const text = [block("make").text, block("stages").text, block("threads").text, use].join("\n");
  const program = await guide.project.start({ name: "queues.mjs", language: "js", text, line: 1 });
  await program.line(/^shipped 12 as order-4711$/);
  await program.line(/^sent LAB POTASSIUM to lab$/);
  await program.line(/^thread true a picture$/);
  await program.line(/^all in$/);
  // The same key again was taken in once.
  expect(program.lines.filter((line) => line.startsWith("shipped"))).toHaveLength(1);
  await program.end("SIGKILL");
});

/** A queue whose orders fail at once while the shop is closed. */
const failing = `
import { createNode } from "holdfast";
import { createQueue } from "holdfast/queue";
const node = await createNode({ store: { url: process.env.DATABASE_URL }, cluster: { enabled: true } });
const orders = createQueue(node, { name: "orders", maxAttempts: 1 });
let isOpen = false;
orders.process("ingress", async ({ lane, body }) => {
  if (!isOpen) throw new Error("the shop is closed");
  console.log("shipped", body.toString(), "of", lane);
});
await orders.opened();
for (const item of ["1", "2"]) await orders.enqueue({ lane: "customer-7", body: item });
while ((await orders.deadLetters()).length < 2) await new Promise((next) => setTimeout(next, 20));
isOpen = true;
`;

it("dead letters are listed with their reason, and redriven", patience, async () => {
  await using database = await createTestDatabase();
  await using guide = await Guide.open("queue", { DATABASE_URL: database.url });
  const text = `${failing}\n${block("dead-letters").text}`;
  const program = await guide.project.start({ name: "letters.mjs", language: "js", text, line: 1 });
  await program.line(/^\d+ customer-7 .*the shop is closed/);
  // Newest first: the first that is listed was redriven by its id, the other with all of the lane.
  await program.line(/^shipped 2 of customer-7$/);
  await program.line(/^shipped 1 of customer-7$/);
  expect(program.stdout.filter((line) => line.startsWith("shipped"))).toHaveLength(2);
  await program.end("SIGKILL");
});
