import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import {
  HandClock,
  listeningLog,
  promiseOfTest,
  StandInIntake,
  settingsOf,
} from "../../../../test/integration/mllp-scene.js";
import { type Clock, systemClock } from "../../../election/clock.js";
import { checkTcpInbound } from "./tcp-settings.js";
import { createTcpSource } from "./tcp-source.js";

const lines = { kind: "delimiter", delimiter: "\n" };

async function listen(given: object, clock: Clock = systemClock) {
  const intake = new StandInIntake();
  const { log, said, lines: logged } = listeningLog();
  const source = createTcpSource({
    name: "lab-in",
    settings: settingsOf(checkTcpInbound({ kind: "tcp", host: "127.0.0.1", port: 0, ...given }, "lab-in.transport")),
    clock,
    log,
    accept: intake.accept,
    changed: () => undefined,
  });
  await source.start();
  const dispose = async (): Promise<void> => await source.stop();
  const reasons = () => logged.flatMap(({ reason }) => (typeof reason === "string" ? [reason] : []));
  return { source, intake, said, reasons, [Symbol.asyncDispose]: dispose };
}

async function connectTo(port: number | null) {
  const socket: Socket = connect({ port: port ?? 0, host: "127.0.0.1" });
  let received = "";
  socket.on("data", (chunk: Buffer) => {
    received += chunk.toString("latin1");
  });
  socket.on("error", () => undefined);
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  await once(socket, "connect");
  const dispose = async (): Promise<void> => {
    socket.destroy();
    await closed;
  };
  return { socket, received: () => received, closed, [Symbol.asyncDispose]: dispose };
}

describe("a TCP source", () => {
  it("takes lines in, and answers nothing by default", async () => {
    await using scene = await listen({ framing: lines });
    await using sender = await connectTo(scene.source.port);
    sender.socket.end("one\ntwo\nhalf");
    await expect.poll(() => scene.intake.bodies).toEqual(["one", "two"]);
    await sender.closed;
    expect(sender.received()).toBe("");
  });

  it("takes messages with their length in front of them", async () => {
    await using scene = await listen({ framing: { kind: "length", bytes: 2, endian: "little", inclusive: true } });
    await using sender = await connectTo(scene.source.port);
    sender.socket.write("\x05\0one\x02\0\x05\0two", "latin1");
    await expect.poll(() => scene.intake.bodies).toEqual(["one", "", "two"]);
  });

  it.each([
    ["a text, framed", "got it", "got it\ngot it\n"],
    ["bytes, as they are", Uint8Array.of(6), "\x06\x06"],
    ["what a function says", (body: Buffer) => `got ${body.toString()}`, "got one\ngot two\n"],
  ])("answers after the commit with %s", async (_name, answer, received) => {
    await using scene = await listen({ framing: lines, answer });
    await using sender = await connectTo(scene.source.port);
    const commit = promiseOfTest<"take">();
    scene.intake.decide = async () => await commit.promise;
    sender.socket.write("one\ntwo\n");
    await expect.poll(() => scene.intake.arrivals.length).toBe(1);
    expect(sender.socket.bytesRead).toBe(0);
    commit.resolve("take");
    await expect.poll(sender.received).toBe(received);
  });

  it("closes the connection of a message that was not kept, where its sender expects an answer", async () => {
    await using scene = await listen({ framing: lines, answer: "got it" });
    await using sender = await connectTo(scene.source.port);
    scene.intake.decide = async () => ({ reason: "the database is away", retry: true });
    sender.socket.write("one\n");
    await sender.closed;
    expect(sender.received()).toBe("");
  });

  it("closes the connection where the answer cannot be made", async () => {
    const answer = (): string => {
      throw new Error("no answer");
    };
    await using scene = await listen({ framing: lines, answer });
    await using sender = await connectTo(scene.source.port);
    sender.socket.write("one\n");
    await sender.closed;
    expect(sender.received()).toBe("");
  });

  it("holds a message that cannot be kept at the moment, where its sender is told nothing, and the sender with it", async () => {
    const clock = new HandClock();
    await using scene = await listen({ framing: lines }, clock);
    await using sender = await connectTo(scene.source.port);
    let isAway = true;
    scene.intake.decide = async () => (isAway ? { reason: "the database is away", retry: true } : "take");
    sender.socket.write("one\ntwo\n");
    await expect.poll(() => scene.said()).toContain("a message is held until it can be kept");
    clock.pass(100);
    await expect.poll(() => scene.intake.bodies).toEqual(["one", "one"]);
    isAway = false;
    await expect
      .poll(() => {
        clock.pass(200);
        return scene.intake.bodies;
      })
      .toEqual(["one", "one", "one", "two"]);
    expect([...scene.intake.kept.keys()]).toEqual(["one", "two"]);
  });

  it("does not hold a message for longer than it runs, and says that it is lost", async () => {
    await using scene = await listen({ framing: lines });
    await using sender = await connectTo(scene.source.port);
    scene.intake.decide = async () => ({ reason: "the database is away", retry: true });
    sender.socket.write("one\n");
    await expect.poll(() => scene.intake.arrivals.length).toBeGreaterThan(0);
    await scene.source.stop();
    const tries = scene.intake.arrivals.length;
    await sender.closed;
    expect(scene.said()).toContain("a message was not taken in");
    expect(scene.intake.arrivals.length).toBe(tries);
  });

  it("refuses a message that is too long", async () => {
    await using scene = await listen({ framing: { kind: "length", bytes: 4 }, maxFrameBytes: 2_000 });
    await using sender = await connectTo(scene.source.port);
    sender.socket.write("\x7f\xff\xff\xff", "latin1");
    await sender.closed;
    expect(scene.said()).toContain("a connection is closed: its bytes are not read on");
  });

  it("stops reading a sender that does not read its answers, and closes it after a while, but no other", async () => {
    const clock = new HandClock();
    const answer = (body: Buffer): Uint8Array => Buffer.alloc(body.includes("large") ? 1_000_000 : 1);
    await using scene = await listen({ framing: lines, answer, writeTimeout: "30s" }, clock);
    await using slow = await connectTo(scene.source.port);
    await using other = await connectTo(scene.source.port);
    slow.socket.pause();
    slow.socket.write("large\n".repeat(200));
    await expect
      .poll(() => {
        other.socket.write("small\n");
        clock.pass(1_000);
        return scene.reasons();
      })
      .toEqual(["its answers are not read"]);
    expect(scene.intake.bodies.filter((body) => body === "large").length).toBeLessThan(100);
    other.socket.write("last\n");
    await expect.poll(() => scene.intake.bodies).toContain("last");
  });
});
