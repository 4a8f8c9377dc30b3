import { test } from "vitest";
import { withClient } from "../support/postgres.js";
import { FeedScene, type Modules } from "./feed-scene.js";

const feed = (handle: string): Modules => `
export const adt = defineRouter({ name: "adt", handlers: ["to-lab"], route: () => ["to-lab"] });
export const wards = defineReference({ name: "wards", from: { kind: "file", path: "/nowhere/wards.csv" }, key: "ward" });
export const toLab = defineHandler({ name: "to-lab", outbounds: ["lab"], references: ["wards"], handle: ${handle} });
`;
const waiting = '(message, { reference }) => [send("lab", String(reference("wards").size))]';
const endless = `(message) => {
  while (message.hl7().get("PID-3") === "W2");
  return [send("lab", message.hl7())];
}`;

test("a handler that never ends holds up one leader, and not the next: its message is a dead letter, all others go on", {
  timeout: 60_000,
}, async ({ expect }) => {
  await using scene = await FeedScene.open(feed(waiting));
  const a = await scene.start("a");
  for (const patient of ["W1", "W2", "W3"]) await scene.send(patient);
  const engine = () => a.node.engine.engine;
  await expect.poll(async () => (await engine()?.queue.depth())?.routed).toBe(3);
  await a.node.close();
  // What a leader leaves that goes down while it handles them.
  await withClient(scene.database.url, async (client) => {
    const { rowCount } = await client.query(
      "update holdfast.lanes set reclaims = 1, attempts = 0, wait_until = null where name = 'adt-in/to-lab'",
    );
    expect(rowCount).toBe(1);
  });
  await scene.define(feed(endless));
  const b = await scene.start("b");
  await expect.poll(() => scene.received.map(([, patient]) => patient), { timeout: 30_000 }).toEqual(["W1", "W3"]);
  expect(await b.node.engine.engine?.queue.deadLetters()).toMatchObject([
    { lane: "adt-in/to-lab", reason: expect.stringMatching(/^handler "to-lab" does not end: .* look for a loop/) },
  ]);
  expect(b.node.role("engine").gate.isLeader).toBe(true);
});
