import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { describe, expect, it } from "vitest";
import { HandClock, listeningLog, promiseOfTest } from "../../../../test/integration/mllp-scene.js";
import { mllpFraming } from "../../core/framing/mllp-framing.js";
import { HeldBytes } from "./held-bytes.js";
import { type Answer, InboundConnection } from "./inbound-connection.js";

/** A socket whose far end has broken off: what it had sent before is still to be read, and every write fails. */
function brokenOff(): Duplex {
  return new Duplex({
    read: () => undefined,
    write: (_chunk, _encoding, done) => done(new Error("write EPIPE")),
  });
}

const frames = (...bodies: string[]): Buffer => Buffer.from(bodies.map((body) => `\x0b${body}\x1c\r`).join(""));

describe("a connection", () => {
  it("that breaks while much of what it sent is unread takes nothing more of it", async () => {
    const socket = brokenOff();
    const taken: string[] = [];
    const commit = promiseOfTest<Answer>();
    const connection = new InboundConnection({
      socket: socket as unknown as Socket,
      peer: "127.0.0.1:1",
      reader: mllpFraming({ maxGarbageBytes: 0 }).createReader({ maxFrameBytes: 100 }),
      limits: { maxUncommitted: 1, idleTimeoutMs: 0, readTimeoutMs: 1_000, writeTimeoutMs: 1_000 },
      clock: new HandClock(),
      log: listeningLog().log,
      held: new HeldBytes(1_000),
      take: async (body) => {
        taken.push(body.toString());
        return await commit.promise;
      },
      refuse: () => null,
    });
    const paused = promiseOfTest();
    socket.once("pause", paused.resolve);
    socket.push(frames("1", "2"));
    // These wait in the socket: the second message waits in the reader until the first one is answered.
    await paused.promise;
    socket.push(frames("3", "4"));
    socket.push(frames("5", "6"));
    commit.resolve({ bytes: Buffer.from("no"), last: false });
    await connection.closed;
    expect(taken).toEqual(["1", "2"]);
  });
});
