import { describe, expect, it } from "vitest";
import { NotLeaderError } from "../errors.js";
import type { Message } from "../queue/message.js";
import { defineOutbound, type OutboundOptions } from "./definition.js";
import { deliver } from "./deliver.js";
import { graphOf } from "./graph.js";
import { Outbounds } from "./outbounds.js";
import type { DeliveryOutcome, Destination } from "./transports/transport.js";

const delivered: DeliveryOutcome = { kind: "delivered", reply: Buffer.from("MSA|AA|1\r") };
const lost: DeliveryOutcome = { kind: "unconfirmed", reason: "no answer" };

function messageAt(position: number, given: Partial<Message> = {}): Message {
  return {
    queue: "engine",
    stage: "outbound",
    lane: "lab",
    position,
    key: null,
    headers: { id: "7", connection: "adt-in" },
    body: Buffer.from("MSH|..."),
    attempt: 1,
    interrupted: false,
    epoch: 3n,
    at: new Date(0),
    ...given,
  };
}

/** An outbound whose destination answers as it is told, and a gate that is open to one epoch. */
function scene(given: Partial<OutboundOptions>, outcomes: DeliveryOutcome[]) {
  const sent: number[] = [];
  const halted: string[] = [];
  const destination: Destination = {
    state: { kind: "idle", reason: null, since: 0 },
    close: () => Promise.resolve(),
    send: async ({ body }, guard) => {
      guard.mayWrite();
      sent.push(body.length);
      return await Promise.resolve(outcomes.shift() ?? delivered);
    },
  };
  const outbound = defineOutbound({ name: "lab", transport: { kind: "mllp", host: "h", port: 1 }, ...given });
  const outbounds = new Outbounds(() => destination);
  const ensureEpoch = (epoch: bigint): void => {
    if (epoch !== 3n) throw new NotLeaderError("not this epoch");
  };
  const parts = {
    graph: () => graphOf([outbound]),
    outbounds,
    gate: { ensureEpoch },
    halt: async (name: string, reason: string) => await Promise.resolve(void halted.push(`${name}: ${reason}`)),
    inDoubt: new Set<string>(),
    counted: () => undefined,
  };
  const context = { signal: new AbortController().signal };
  return { sent, halted, deliver: async (message: Message) => await deliver(message, context, parts) };
}

describe("a message that goes out", () => {
  it("and is rejected is told why, without the patient whom the other side may name", async () => {
    const refused = {
      kind: "rejected",
      reason: "It was answered with AR: unknown patient Miller",
      retry: false,
    } as const;
    const { deliver: send } = scene({}, [refused]);
    const body = Buffer.from("MSH|^~\\&|HIS\rPID|1||77||Miller\r");
    await expect(send(messageAt(1, { body }))).rejects.toThrow("It was answered with AR: unknown patient [...]");
  });

  it("and is asked to come later comes no earlier", async () => {
    const { deliver: send } = scene({}, [
      { kind: "rejected", reason: "it answered 429", retry: true, retryAfterMs: 7_000 },
    ]);
    await expect(send(messageAt(1))).rejects.toMatchObject({ code: "REFUSED", retryAfterMs: 7_000 });
  });

  it("is journaled as sent, with what the other side said", async () => {
    const { deliver: send } = scene({}, [delivered]);
    const { journal, produced } = await send(messageAt(1));
    expect(produced).toEqual([]);
    expect(journal.steps).toEqual([
      { id: 7, kind: "sent", stage: "outbound", lane: "lab", position: 1, detail: { attempt: 1, reply: "MSA|AA|1" } },
    ]);
  });

  it("is not written where the epoch of its claim leads no more, whoever leads now", async () => {
    const { deliver: send, sent } = scene({}, []);
    await expect(send(messageAt(1, { epoch: 2n }))).rejects.toBeInstanceOf(NotLeaderError);
    expect(sent).toEqual([]);
  });

  it("is tried again where nobody was reached or the other side is busy, and not where it was rejected for good", async () => {
    const { deliver: send } = scene({}, [
      { kind: "unreached", reason: "refused" },
      { kind: "rejected", reason: "AE busy", retry: true },
      { kind: "rejected", reason: "AR unknown ward", retry: false },
    ]);
    await expect(send(messageAt(1))).rejects.not.toHaveProperty("retry");
    await expect(send(messageAt(1))).rejects.not.toHaveProperty("retry");
    await expect(send(messageAt(1))).rejects.toMatchObject({ retry: false, message: "rejected: AR unknown ward" });
  });

  it("for an outbound that left the configuration goes to the dead letters", async () => {
    const { deliver: send } = scene({ name: "pharmacy" }, []);
    await expect(send(messageAt(1))).rejects.toMatchObject({
      retry: false,
      message: 'connection "lab" left the configuration',
    });
  });

  it("that has arrived is not sent again by the same leader, also where its commit was lost", async () => {
    const { deliver: send, sent } = scene({}, [delivered]);
    await send(messageAt(4));
    const { journal } = await send(messageAt(4, { attempt: 2 }));
    expect(journal.steps).toMatchObject([{ kind: "sent", position: 4 }]);
    expect(sent).toHaveLength(1);
    await send(messageAt(5));
    expect(sent).toHaveLength(2);
  });
});

describe("a message that was sent and not confirmed", () => {
  it("is sent again by default", async () => {
    const { deliver: send, halted, sent } = scene({}, [lost, delivered]);
    await expect(send(messageAt(1))).rejects.toThrow("sent, but not confirmed: no answer");
    await send(messageAt(1, { attempt: 2 }));
    expect(sent).toHaveLength(2);
    expect(halted).toEqual([]);
  });

  it("counts as sent where the connection says so", async () => {
    const { deliver: send } = scene({ unconfirmed: "skip" }, [lost]);
    const { journal } = await send(messageAt(1));
    expect(journal.steps).toMatchObject([
      { kind: "sent", detail: { unconfirmed: expect.stringContaining("no answer") } },
    ]);
  });

  it("stops the connection where it says so", async () => {
    const { deliver: send, halted } = scene({ unconfirmed: "stop" }, [lost]);
    await expect(send(messageAt(1))).rejects.toThrow("sent, but not confirmed");
    expect(halted).toEqual(["lab: sent, but not confirmed: no answer"]);
  });

  it("also by a leader that went down: the next one asks before it sends, once", async () => {
    const { deliver: send, halted, sent } = scene({ unconfirmed: "stop" }, []);
    await expect(send(messageAt(1, { interrupted: true }))).rejects.toThrow("went down while it was being sent");
    expect([sent, halted.length]).toEqual([[], 1]);
    await send(messageAt(1, { interrupted: true, attempt: 2 })); // Somebody has started the connection again.
    expect(sent).toHaveLength(1);
  });
});
