import { describe, expect, it } from "vitest";
import { HoldfastError } from "../errors.js";
import type { Recorder } from "../queue/appender.js";
import type { NewMessage } from "../queue/message.js";
import { defineInbound, type InboundOptions } from "./definition.js";
import { TakingIn } from "./taking-in.js";
import type { Receipt } from "./transports/transport.js";

const body = Buffer.from("MSH|^~\\&|HIS|W|HF|HUB|20260131||ADT^A01|C1|P|2.5\r");
const mllp = { kind: "mllp", port: 2_575 } as const;

/** A queue that keeps what it is given, and knows keys again. */
function scene(given: Partial<InboundOptions> = {}) {
  const kept: (NewMessage & { readonly line: object })[] = [];
  const keys = new Map<string, number>();
  let failure: HoldfastError | null = null;
  let wanted = 0;
  const queue = {
    enqueueRecorded: async (message: NewMessage, record: Recorder) => {
      if (failure !== null) throw failure;
      const known = message.key === undefined ? undefined : keys.get(message.key);
      if (known !== undefined) return await Promise.resolve({ lane: 1, position: known, duplicate: true });
      const { line, headers } = record();
      kept.push({ ...message, headers: { ...message.headers, ...headers }, line });
      if (message.key !== undefined) keys.set(message.key, kept.length);
      return { lane: 1, position: kept.length, duplicate: false };
    },
  };
  const bodyOf = async (id: string) => await Promise.resolve(Buffer.from(kept[Number(id) - 1]?.body ?? ""));
  const reused: string[] = [];
  let isForgotten = false;
  const ackOf = async ({ position }: { readonly position: number }) =>
    await Promise.resolve(isForgotten ? null : { id: String(position), ack: Buffer.from(`ack ${position}`) });
  const takingIn = new TakingIn({
    queue,
    book: { ackOf, bodyOf },
    now: () => 1_000,
    reused: (...told) => reused.push(told.join(" ")),
  });
  takingIn.number({ next: 1, end: 4 }, () => {
    wanted += 1;
  });
  const inbound = defineInbound({ name: "adt-in", router: "adt", transport: mllp, ...given });
  const ack = (receipt: Receipt): Buffer => Buffer.from(receipt.kind === "accepted" ? `ack ${receipt.id}` : "no");
  return {
    kept,
    reused,
    takingIn,
    inbound,
    ack,
    take: async (bytes = body, headers = {}) =>
      await takingIn.accept(inbound, { body: bytes, peer: "x", headers }, ack),
    fail: (code: HoldfastError["code"]) => {
      failure = new HoldfastError(code, "away");
    },
    wanted: () => wanted,
    /** The journal has let go of it, and the key is still there. */
    forget: () => {
      isForgotten = true;
    },
  };
}

describe("an arrival", () => {
  it("is taken in with its line of the journal, and with the answer that it gets", async () => {
    const { take, kept } = scene();
    expect(await take()).toMatchObject({ kind: "accepted", id: "1", duplicate: false, malformed: null });
    expect(kept).toMatchObject([
      {
        stage: "ingress",
        lane: "adt-in",
        headers: { id: "1", connection: "adt-in", type: "ADT^A01", control_id: "C1" },
        line: { id: 1, connection: "adt-in", type: "ADT^A01", controlId: "C1", ack: Buffer.from("ack 1") },
      },
    ]);
  });

  it("that comes again is answered as the first was, and not taken in", async () => {
    const { take, kept } = scene();
    await take();
    expect(await take()).toMatchObject({ kind: "accepted", id: "1", duplicate: true, ack: Buffer.from("ack 1") });
    expect(kept).toHaveLength(1);
  });

  it("that comes again with the time of its resend is the same", async () => {
    const { take, kept } = scene();
    await take();
    expect(await take(Buffer.from(body.toString().replace("20260131", "20260201")))).toMatchObject({ duplicate: true });
    expect(kept).toHaveLength(1);
  });

  it("whose sender uses a control id again for another message is taken in, once, and that is told", async () => {
    const { take, kept, reused } = scene();
    const other = Buffer.from(`${body.toString()}PID|1||88\r`);
    await take();
    expect(await take(other)).toMatchObject({ kind: "accepted", id: "2", duplicate: false, ack: Buffer.from("ack 2") });
    expect(reused).toEqual(["adt-in C1"]);
    expect(await take(other)).toMatchObject({ id: "2", duplicate: true, ack: Buffer.from("ack 2") });
    expect(await take()).toMatchObject({ id: "1", duplicate: true });
    expect(kept).toHaveLength(2);
  });

  it("is kept, too, where nobody can tell any more whether the first of its control id was the same", async () => {
    const { take, kept, forget } = scene();
    await take();
    forget();
    expect(await take(Buffer.from(`${body.toString()}PID|1||88\r`))).toMatchObject({ id: "2", duplicate: false });
    expect(kept).toHaveLength(2);
  });

  it("that comes again is one more where the connection says so", async () => {
    const { take, kept } = scene({ duplicates: "accept" });
    await take();
    await take();
    expect(kept).toHaveLength(2);
  });

  it("that its transport knows again is taken in once, whatever the connection says, and however long its name is", async () => {
    const { takingIn, inbound, ack, kept } = scene({ duplicates: "accept" });
    const arrival = { body, peer: "x", key: "/in/a.hl7 ".repeat(100) };
    await takingIn.accept(inbound, arrival, ack);
    expect(await takingIn.accept(inbound, arrival, ack)).toMatchObject({ duplicate: true });
    expect(await takingIn.accept(inbound, { ...arrival, key: `${arrival.key}2` }, ack)).toMatchObject({
      duplicate: false,
    });
    expect(kept).toHaveLength(2);
  });

  it("whose answer cannot be built is taken in all the same: others are committed together with it", async () => {
    const { takingIn, inbound, kept } = scene();
    const failing = (): never => {
      throw new Error("no answer");
    };
    expect(await takingIn.accept(inbound, { body, peer: "x" }, failing)).toMatchObject({ kind: "accepted", ack: null });
    expect(kept).toHaveLength(1);
  });

  it("that is malformed is kept, and never taken for another", async () => {
    const { take, kept } = scene();
    const garbage = Buffer.from("MSH|^~\\&|||||||ADT^A01|C1\0|P|2.5\r");
    expect(await take(garbage)).toMatchObject({ kind: "accepted", malformed: expect.stringContaining("MSH-10") });
    expect(await take(garbage)).toMatchObject({ kind: "accepted", duplicate: false });
    expect(kept.map(({ key }) => key)).toEqual([undefined, undefined]);
  });

  it("as it is passes through, whatever it holds", async () => {
    const { take, kept } = scene({ format: "raw" });
    expect(await take(Buffer.from([0, 255]))).toMatchObject({ kind: "accepted", malformed: null });
    expect(kept).toMatchObject([{ headers: { type: "", control_id: "" } }]);
  });

  it("cannot set what only the engine may", async () => {
    const { take, kept } = scene();
    await take(body, { only: "lab", MALFORMED: "x", "x-own": "1" });
    expect(kept[0]?.headers).toMatchObject({ "x-own": "1" });
    expect(kept[0]?.headers).not.toHaveProperty("only");
    expect(kept[0]?.headers).not.toHaveProperty("MALFORMED");
  });

  it.each([
    ["DATABASE_AWAY", true],
    ["NOT_LEADER", true],
    ["UNKNOWN_OUTCOME", true],
    ["DATABASE_REFUSED", true],
    ["BODY_TOO_LARGE", false],
    ["INVALID_REQUEST", false],
  ] as const)("is refused after %s, and may come again: %s", async (code, retry) => {
    const { take, fail } = scene();
    fail(code);
    expect(await take()).toEqual({ kind: "refused", reason: "away", retry });
  });
});

it("a replay is a message of its own, whatever its control id, and may go to one destination alone", async () => {
  const { take, takingIn, inbound, ack, kept } = scene();
  await take();
  const replayed = await takingIn.accept(inbound, { body, peer: "replay" }, ack, { of: "1", only: "lab" });
  expect(replayed).toMatchObject({ id: "2", duplicate: false });
  expect(kept[1]).toMatchObject({ headers: { only: "lab" }, line: { replayOf: 1 } });
});

it("when the numbers come to an end more are asked for, and without any nothing is taken in", async () => {
  const { take, wanted, kept } = scene({ duplicates: "accept" });
  await take();
  await take();
  await take();
  expect(await take()).toMatchObject({ kind: "refused", retry: true });
  expect(wanted()).toBeGreaterThan(0);
  expect(kept).toHaveLength(3);
});
