import { describe, expect, it } from "vitest";
import type { Message } from "../queue/message.js";
import { type Definition, defineHandler, defineInbound, defineOutbound, defineRouter } from "./definition.js";
import { graphOf } from "./graph.js";
import { ReferenceSets } from "./reference-sets.js";
import { send } from "./send.js";
import { SharedState } from "./shared-state.js";
import { Hopeless, handle, route, type StepParts } from "./steps.js";

const body = "MSH|^~\\&|HIS|W|HF|HUB|20260131||ADT^A01|1|P|2.5\rPID|1||77||Miller\r";
const mllp = { kind: "mllp", host: "127.0.0.1", port: 2_575 } as const;

function messageOf(stage: string, lane: string, headers: Readonly<Record<string, string>> = {}): Message {
  return {
    queue: "engine",
    stage,
    lane,
    position: 1,
    key: null,
    headers: { id: "7", connection: "adt-in", format: "hl7v2", type: "ADT^A01", control_id: "1", ...headers },
    body: Buffer.from(body),
    attempt: 1,
    interrupted: false,
    epoch: 3n,
    at: new Date(0),
  };
}

const inbound = defineInbound({ name: "adt-in", router: "adt", transport: mllp });
const outbound = defineOutbound({ name: "lab", transport: mllp });

function partsOf(definitions: readonly Definition[], sets: Readonly<Record<string, object[]>> = {}): StepParts {
  const versions = Object.keys(sets).map((name) => ({ name, version: 1, hash: "", rows: 1, publishedAt: 0 }));
  const references = new ReferenceSets({
    referenceVersions: async () => await Promise.resolve(versions),
    readReference: async (name) =>
      await Promise.resolve((sets[name] ?? []).map((value) => ({ key: "a", value: value as never }))),
  });
  const state = new SharedState({
    stateVersions: async () => await Promise.resolve(new Map()),
    readState: async () => await Promise.resolve({ version: 0, entries: [] }),
  });
  return {
    graph: () => graphOf(definitions),
    placeOf: () => "adt.ts:3:5",
    state,
    references,
    maxBodyBytes: 100,
    counted: () => undefined,
    isDoubtful: () => false,
    doubtfulMs: 50,
  };
}

describe("a router", () => {
  const adt = (chosen: unknown): Definition =>
    defineRouter({ name: "adt", handlers: ["to-lab", "to-archive"], route: () => chosen as never });

  it("sends a message on to each handler once, in a lane of its own, with all that it carries", () => {
    const { produced, journal } = route(messageOf("ingress", "adt-in"), partsOf([inbound, adt(["to-lab", "to-lab"])]));
    expect(produced).toMatchObject([{ stage: "routed", lane: "adt-in/to-lab", headers: { id: "7" } }]);
    expect(journal.steps).toEqual([]);
  });

  it("that chooses nobody leaves the message unrouted", () => {
    const { produced, journal } = route(messageOf("ingress", "adt-in"), partsOf([inbound, adt([])]));
    expect([produced, journal.steps]).toMatchObject([[], [{ id: 7, kind: "unrouted", lane: "adt-in" }]]);
  });

  it.each([
    [["elsewhere"], 'chose "elsewhere", which is not among its handlers'],
    [[7], "must return an array of names"],
    ["to-lab", "must return an array"],
    [Promise.resolve([]), "is asynchronous"],
  ])("that answers %j fails the message for good", (chosen, reason) => {
    const routed = (): unknown => route(messageOf("ingress", "adt-in"), partsOf([inbound, adt(chosen)]));
    expect(routed).toThrow(expect.objectContaining({ retry: false, message: expect.stringContaining(reason) }));
  });

  it("is not asked about what is malformed, nor for a connection that is gone", () => {
    const parts = partsOf([inbound, adt(["to-lab"])]);
    expect(() => route(messageOf("ingress", "adt-in", { malformed: "It is empty." }), parts)).toThrow(
      "malformed: It is",
    );
    expect(() => route(messageOf("ingress", "gone"), parts)).toThrow('connection "gone" left the configuration');
  });

  it("is asked again by a replay, of which only those go on who know the destination", () => {
    const knows = defineHandler({ name: "to-lab", outbounds: ["lab"], handle: () => [] });
    const doesNot = defineHandler({ name: "to-archive", outbounds: [], handle: () => [] });
    const parts = partsOf([inbound, outbound, knows, doesNot, adt(["to-lab", "to-archive"])]);
    const { produced } = route(messageOf("ingress", "adt-in", { only: "lab" }), parts);
    expect(produced.map(({ lane }) => lane)).toEqual(["adt-in/to-lab"]);
  });
});

describe("a handler", () => {
  const message = messageOf("routed", "adt-in/to-lab");

  it("sends and remembers, and both are told with the end of its message", () => {
    const handler = defineHandler({
      name: "to-lab",
      outbounds: ["lab"],
      state: ["seen"],
      handle: (given, { state }) => {
        state("seen").set(given.hl7().get("PID-3"), 1);
        return [send("lab", "changed")];
      },
    });
    const { produced, journal } = handle(message, partsOf([outbound, handler]));
    expect(produced).toMatchObject([{ stage: "outbound", lane: "lab", headers: { id: "7", connection: "adt-in" } }]);
    expect(journal).toEqual({
      steps: [expect.objectContaining({ kind: "processed", detail: { to: ["lab"] } })],
      state: [{ namespace: "seen", key: "77", value: 1 }],
    });
  });

  it("may take what it needs of a message apart", () => {
    const handler = defineHandler({
      name: "to-lab",
      outbounds: ["lab"],
      handle: ({ text, hl7 }) => [send("lab", text()), send("lab", hl7().set("PID-3", "78"))],
    });
    const { produced } = handle(message, partsOf([outbound, handler]));
    const [as, changed] = produced.map(({ body }) => String(body));
    expect(as).toBe(String(message.body));
    expect(changed).toBe(as?.replace("77", "78"));
  });

  it("that sends nothing filters the message", () => {
    const handler = defineHandler({ name: "to-lab", outbounds: [], handle: () => [] });
    expect(handle(message, partsOf([handler])).journal.steps).toMatchObject([{ kind: "filtered" }]);
  });

  it("that throws fails the message for good, at a place that can be found, and keeps nothing", () => {
    const handler = defineHandler({
      name: "to-lab",
      outbounds: [],
      state: ["seen"],
      handle: (_, { state }) => {
        state("seen").set("a", 1);
        throw new TypeError("no ward for Miller");
      },
    });
    const parts = partsOf([handler]);
    const failure = { retry: false, message: 'handler "to-lab" failed at adt.ts:3:5: no ward for [...]' };
    expect(() => handle(message, parts)).toThrow(expect.objectContaining(failure));
    expect(parts.state.draft(["seen"]).namespace("seen").get("a")).toBeUndefined();
  });

  it("whose sends cannot be stored keeps nothing either", () => {
    const handler = defineHandler({
      name: "to-lab",
      outbounds: ["lab"],
      state: ["count"],
      handle: (_, { state }) => {
        state("count").set("a", 1);
        return [send("lab", "x")];
      },
    });
    const parts = partsOf([outbound, handler]);
    const full = messageOf("routed", "adt-in/to-lab", { note: "x".repeat(70_000) });
    expect(() => handle(full, parts)).toThrow(expect.objectContaining({ retry: false }));
    expect(parts.state.draft(["count"]).namespace("count").get("a")).toBeUndefined();
  });

  it.each([
    ["elsewhere", () => [send("elsewhere", "x")], 'sends to "elsewhere", which is not among its outbounds'],
    ["too much", () => [send("lab", "x".repeat(101))], "sends 101 bytes, and 100 are the most"],
    [
      "an undeclared state",
      (_: unknown, { state }: { state: (name: string) => unknown }) => [state("other")],
      "does not declare the state",
    ],
    ["a promise", async () => await Promise.resolve([]), "is asynchronous"],
    ["nothing", () => [undefined], "made by send(), and the first is no such thing"],
    ["no body", () => [send("lab", "x"), { outbound: "lab" }], "and number 2 is no such thing"],
  ])("that wants %s fails the message for good", (_name, work, reason) => {
    const handler = defineHandler({ name: "to-lab", outbounds: ["lab"], handle: work as never });
    const handled = (): unknown => handle(message, partsOf([outbound, handler]));
    expect(handled).toThrow(expect.objectContaining({ retry: false, message: expect.stringContaining(reason) }));
  });

  it("waits for a reference set that was not built yet, and reads it when it is there", async () => {
    const handler = defineHandler({
      name: "to-lab",
      outbounds: ["lab"],
      references: ["wards"],
      handle: (_, { reference }) => [send("lab", JSON.stringify(reference("wards").get("a")?.name))],
    });
    const parts = partsOf([outbound, handler], { wards: [{ name: "North" }] });
    expect(() => handle(message, parts)).toThrow(expect.not.objectContaining({ retry: false }));
    await (parts.references as ReferenceSets).follow(new Set(["wards"]));
    expect(handle(message, parts).produced.map((one) => one.body.toString())).toEqual(['"North"']);
  });

  it("of an outbound with keys gives each key a lane", () => {
    const keyed = defineOutbound({ name: "lab", transport: mllp, lanes: 4, lane: (sent) => sent.hl7().get("PID-3") });
    const handler = defineHandler({
      name: "to-lab",
      outbounds: ["lab"],
      handle: ({ body: bytes }) => [send("lab", bytes)],
    });
    const lanes = handle(message, partsOf([keyed, handler])).produced.map(({ lane }) => lane);
    expect(lanes).toEqual([expect.stringMatching(/^lab\/[0-3]$/)]);
  });
});

describe("a message that an earlier leader may have gone down with", () => {
  const endless = defineHandler({
    name: "to-lab",
    outbounds: ["lab"],
    handle: () => {
      for (;;);
    },
  });
  const parts = { ...partsOf([inbound, outbound, endless]), isDoubtful: () => true };
  const tried = (attempt: number) => () => handle({ ...messageOf("routed", "adt-in/to-lab"), attempt }, parts);

  it("is ended where it does not end by itself, tried once more, and then given up", () => {
    expect(tried(1)).toThrow(
      'handler "to-lab" does not end: it was stopped after 50 ms, and a leader went down before',
    );
    expect(tried(1)).not.toThrow(Hopeless);
    expect(tried(2)).toThrow(Hopeless);
  });

  it("is handled like any other where it does, and fails like any other", () => {
    const fine = defineHandler({ name: "to-lab", outbounds: ["lab"], handle: ({ body: same }) => [send("lab", same)] });
    const wrong = defineHandler({
      name: "to-lab",
      outbounds: ["lab"],
      handle: () => {
        throw new Error("no bed");
      },
    });
    const run = (handler: Definition) => () =>
      handle(messageOf("routed", "adt-in/to-lab"), {
        ...partsOf([inbound, outbound, handler]),
        isDoubtful: () => true,
        doubtfulMs: 10_000,
      });
    expect(run(wrong)).toThrow('handler "to-lab" failed at adt.ts:3:5: no bed');
    expect(run(fine)().produced).toHaveLength(1);
  });
});
