import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ConnectionAnswer } from "../../src/server/connection-routes.js";
import { ackFor } from "../integration/mllp-scene.js";
import { EngineScene, type ServedEngineNode } from "./engine-scene.js";

let scene: EngineScene;
beforeAll(async () => {
  scene = await EngineScene.open();
});
afterAll(async () => await scene[Symbol.asyncDispose]());

const connectionAt = async (node: ServedEngineNode, name: string): Promise<ConnectionAnswer> => {
  const items = (await node.get("/connections")).body.items as readonly ConnectionAnswer[];
  return items.find((item) => item.name === name) as ConnectionAnswer;
};
const none = { received: 0, unrouted: 0, filtered: 0, processed: 0, sent: 0, error: 0 };

describe("what has become of the messages of a connection", () => {
  const incoming = { received: 4, unrouted: 1, filtered: 2, processed: 3, sent: 0, error: 1 };

  it("is known to the leader at once, and to nobody else before the totals of the cluster are put together", async () => {
    await scene.receive("one", "77");
    await scene.receive("two", "nobody");
    await scene.receive("three", "broken");
    await scene.receive("four", "77", "ORU^R01");
    expect(await connectionAt(scene.leader, "adt-in")).toMatchObject({ counts: incoming, counts_at: null, errors: 1 });
    expect(await connectionAt(scene.leader, "lab")).toMatchObject({ counts: { ...none, sent: 1 }, errors: 0 });
    await expect.poll(() => connectionAt(scene.other, "adt-in")).toMatchObject({ counts: none, counts_at: null });
  });

  it("is shown by every node as it is in the totals, and by the leader with what it has counted since", async () => {
    // A node leaves a copy of its metrics whenever it leads something else.
    scene.leader.node.role("elsewhere").lead(async () => await Promise.resolve());
    await expect
      .poll(async () => (await scene.other.get("/metrics/cluster")).text)
      .toMatch(/_engine_messages_total\{node="a",connection="adt-in",status="received"\} 4\n/);
    scene.other.node.jobs.open();
    await expect
      .poll(() => connectionAt(scene.other, "adt-in"))
      .toMatchObject({ counts: incoming, counts_at: expect.any(Number), errors: 1 });
    expect(await connectionAt(scene.other, "lab")).toMatchObject({ counts: { ...none, sent: 1 } });
    expect(await connectionAt(scene.leader, "adt-in")).toMatchObject({ counts: incoming });
    await scene.receive("five", "77");
    const { counts, counts_at: at } = await connectionAt(scene.leader, "adt-in");
    expect([counts, at]).toEqual([{ ...incoming, received: 5, processed: 5 }, expect.any(Number)]);
    expect(Math.abs(Date.now() / 1000 - (at ?? 0))).toBeLessThan(600);
  });
});

it("what an outbound could not deliver is an error there, and where it came in", async () => {
  scene.lab.onFrame = (body, sender) => sender.send(ackFor(body, "AR"));
  await scene.receive("six", "77");
  const lab = await connectionAt(scene.other, "lab");
  expect(lab).toMatchObject({ errors: 1, waiting: 0 });
  expect(await connectionAt(scene.other, "adt-in")).toMatchObject({ errors: 2 });
  expect((await connectionAt(scene.leader, "lab")).counts).toMatchObject({ sent: 2, error: 1 });
});
