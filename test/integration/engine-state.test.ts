import { test, vi } from "vitest";
import { SharedState } from "../../src/engine/shared-state.js";
import type { LocalNode } from "../support/local-node.js";
import { FeedScene, type Modules } from "./feed-scene.js";

/** PID-5 is the number of the patient's visit, by what the handler remembers; another handler counts in the same namespace. */
const counting: Modules = `
export const adt = defineRouter({ name: "adt", handlers: ["to-lab", "census"], route: () => ["to-lab", "census"] });
const count = (seen, key) => {
  const next = Number(seen.get(key) ?? 0) + 1;
  seen.set(key, next);
  return next;
};
export const toLab = defineHandler({
  name: "to-lab",
  outbounds: ["lab"],
  state: ["visits"],
  handle: (message, { state }) => {
    const hl7 = message.hl7();
    const patient = hl7.get("PID-3");
    const visits = state("visits");
    const [who, what] = patient.split(" ");
    const nth = count(visits, who);
    count(visits, "all");
    if (what === "fails") throw new Error("no such patient");
    if (what === "leaves") visits.delete(who);
    return [send("lab", hl7.set("PID-5", String(nth)))];
  },
});
export const census = defineHandler({
  name: "census",
  outbounds: ["lab"],
  state: ["visits"],
  handle: (message, { state }) => {
    count(state("visits"), "all");
    return [];
  },
});`;

/** As a standby follows it. */
async function remembered({ node }: LocalNode, key: string) {
  const state = new SharedState(node.engine.book);
  await state.follow();
  return state.draft(["visits"]).namespace("visits").get(key);
}

test.concurrent("what handlers remember converges to the standbys, and so does what they forget", async ({
  expect,
}) => {
  await using scene = await FeedScene.open(counting);
  await scene.start("a");
  const b = await scene.start("b");
  expect(await scene.nameOf("ann")).toBe("1");
  expect(await scene.nameOf("ann")).toBe("2");
  expect(await scene.nameOf("bob")).toBe("1");
  await expect.poll(async () => [await remembered(b, "ann"), await remembered(b, "bob")]).toEqual([2, 1]);
  expect(await scene.nameOf("ann leaves")).toBe("3");
  await expect.poll(async () => [await remembered(b, "ann"), await remembered(b, "bob")]).toEqual([undefined, 1]);
  expect(await scene.nameOf("ann")).toBe("1");
});

test.concurrent("a standby follows by versions, so that its promotion reads only what is new", async ({ expect }) => {
  await using scene = await FeedScene.open(counting);
  const a = await scene.start("a");
  expect(await scene.nameOf("ann")).toBe("1");
  const b = await scene.start("b");
  const reads = vi.spyOn(b.node.engine.book, "readState");
  expect(await scene.nameOf("ann")).toBe("2");
  await expect.poll(() => reads.mock.calls.length).toBeGreaterThan(0);
  await Promise.all(reads.mock.results.map(async ({ value }) => await value));
  reads.mockClear();
  expect(await scene.nameOf("ann")).toBe("3");
  await a.node.close();
  expect(await scene.nameOf("ann")).toBe("4");
  expect(reads.mock.calls.length).toBeGreaterThan(0);
  expect(reads.mock.calls.filter(([, since]) => since === 0)).toEqual([]);
});

test.concurrent("of a handler that fails nothing is remembered, on its leader or the next", async ({ expect }) => {
  await using scene = await FeedScene.open(counting);
  const a = await scene.start("a");
  const b = await scene.start("b");
  expect(await scene.nameOf("ann")).toBe("1");
  await scene.send("ann fails");
  await expect.poll(async () => (await a.node.engine.engine?.queue.deadLetters())?.length).toBe(1);
  expect(await remembered(b, "ann")).toBe(1);
  expect(await scene.nameOf("ann")).toBe("2");
  await a.node.close();
  expect(await scene.nameOf("ann")).toBe("3");
});

test("a standby that is promoted counts on, again and again, and a leader that returns forgets nothing and makes nothing up", {
  timeout: 90_000,
}, async ({ expect }) => {
  await using scene = await FeedScene.open(counting);
  const nodes = new Map([
    ["a", await scene.start("a")],
    ["b", await scene.start("b")],
  ]);
  const patients = ["ann", "bob", "cy"];
  const rounds = 20;
  let leader = "a";
  let handover: Promise<unknown> = Promise.resolve();
  for (let round = 1; round <= rounds; round += 1) {
    for (const patient of patients) await scene.send(patient);
    if (round % 5 !== 0) continue;
    // While the next messages are on their way.
    const next = leader === "a" ? "b" : "a";
    await handover;
    handover = nodes.get(leader)?.node.role("engine").stepDown({ to: next }) ?? Promise.resolve();
    leader = next;
  }
  await handover;
  const sent = rounds * patients.length;
  await expect.poll(() => scene.received.length).toBe(sent);
  for (const patient of patients) {
    const visits = scene.received.filter(([, who]) => who === patient).map(([, , nth]) => Number(nth));
    expect(visits).toEqual(Array.from({ length: rounds }, (_, at) => at + 1));
  }
  const [any] = nodes.values();
  await expect.poll(async () => any && (await remembered(any, "all"))).toBe(2 * sent);
  const { node } = nodes.get(leader) as LocalNode;
  expect(node.role("engine").gate.requireLeader().epoch).toBe(BigInt(1 + rounds / 5));
});
