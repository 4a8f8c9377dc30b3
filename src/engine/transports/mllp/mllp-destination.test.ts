import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { createServer as createTlsServer } from "node:tls";
import { Worker } from "node:worker_threads";
import { describe, expect, it, vi } from "vitest";
import {
  ackFor,
  adt,
  deliveryOf,
  HandClock,
  listeningLog,
  neverAborted,
  openGuard,
  Receiver,
  settingsOf,
} from "../../../../test/integration/mllp-scene.js";
import { type Clock, systemClock } from "../../../election/clock.js";
import { NotLeaderError } from "../../../errors.js";
import type { DestinationState } from "../transport.js";
import { createMllpDestination } from "./mllp-destination.js";
import { checkMllpOutbound } from "./mllp-settings.js";

const certificate = readFileSync("test/support/tls/localhost.crt");
const key = readFileSync("test/support/tls/localhost.key");

/** Acknowledges each message after so long, and closes the connection some milliseconds later. */
const closingReceiver = `
  const { createServer } = require("node:net");
  const { parentPort, workerData: { flags, ackAfterMs } } = require("node:worker_threads");
  const raise = (flag) => {
    Atomics.store(flags, flag, 1);
    Atomics.notify(flags, flag);
  };
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => {
      const id = chunk.toString("latin1").split("|")[9];
      raise(1);
      setTimeout(() => acknowledge(socket, id), ackAfterMs);
    });
    socket.on("close", () => raise(0));
  });
  const acknowledge = (socket, id) => {
    socket.write("\\x0bMSH|^~\\\\&|LAB|X|HF|HUB|1||ACK|R|P|2.5\\rMSA|AA|" + id + "\\r\\x1c\\r");
    setTimeout(() => socket.destroy(), 30);
  };
  server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
`;

class ClosingReceiver implements AsyncDisposable {
  readonly port: number;
  private readonly worker: Worker;
  private readonly flags: Int32Array;

  private constructor(worker: Worker, flags: Int32Array, port: number) {
    this.worker = worker;
    this.flags = flags;
    this.port = port;
  }

  static async start(ackAfterMs: number): Promise<ClosingReceiver> {
    const flags = new Int32Array(new SharedArrayBuffer(8));
    const worker = new Worker(closingReceiver, { eval: true, workerData: { flags, ackAfterMs } });
    const [port] = (await once(worker, "message")) as [number];
    return new ClosingReceiver(worker, flags, port);
  }

  get hasReceived(): boolean {
    return Atomics.load(this.flags, 1) === 1;
  }

  /** Nothing is heard from the socket until the other side has closed it. */
  standStillUntilClosed(): void {
    Atomics.wait(this.flags, 0, 0, 10_000);
    this.flags.fill(0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.worker.terminate();
  }
}

function destinationTo(port: number, given: object = {}, clock: Clock = systemClock) {
  const states: DestinationState[] = [];
  const { log, lines } = listeningLog();
  const destination = createMllpDestination({
    name: "lab",
    settings: settingsOf(checkMllpOutbound({ kind: "mllp", host: "127.0.0.1", port, ...given }, "lab.transport")),
    clock,
    log,
    changed: (state) => states.push(state),
  });
  const send = async (body: string, signal = neverAborted) =>
    await destination.send(deliveryOf(body), openGuard, signal);
  const dispose = async (): Promise<void> => await destination.close();
  return { destination, send, states, lines, [Symbol.asyncDispose]: dispose };
}

describe("an MLLP destination", () => {
  it("sends one message after another over the same connection", async () => {
    await using receiver = await Receiver.listen();
    await using lab = destinationTo(receiver.port);
    for (const id of ["1", "2", "3"]) {
      expect(await lab.send(adt(id))).toEqual({ kind: "delivered", reply: Buffer.from(ackFor(adt(id)), "latin1") });
    }
    expect(receiver.messages).toEqual([adt("1"), adt("2"), adt("3")]);
    expect(receiver.connections.length).toBe(1);
    expect(lab.states.map(({ kind }) => kind)).toEqual(["connecting", "connected"]);
  });

  it.each([
    ["AA", { kind: "delivered" }],
    ["CA", { kind: "delivered" }],
    ["AE", { kind: "rejected", retry: true, reason: "It was answered with AE: no bed" }],
    ["CE", { kind: "rejected", retry: true, reason: "It was answered with CE: no bed" }],
    ["AR", { kind: "rejected", retry: false, reason: "It was answered with AR: no bed" }],
    ["CR", { kind: "rejected", retry: false, reason: "It was answered with CR: no bed" }],
  ])("judges %s, and keeps the connection", async (code, outcome) => {
    await using receiver = await Receiver.listen();
    await using lab = destinationTo(receiver.port);
    receiver.onFrame = (body, sender) => sender.send(ackFor(body, code, undefined, "no bed"));
    expect(await lab.send(adt("1"))).toMatchObject(outcome);
    expect(await lab.send(adt("2"))).toMatchObject(outcome);
    expect(receiver.connections.length).toBe(1);
  });

  it("did not reach a receiver where nobody listens", async () => {
    const receiver = await Receiver.listen();
    const { port } = receiver;
    await receiver[Symbol.asyncDispose]();
    await using lab = destinationTo(port);
    const reason = `127.0.0.1:${port}: nobody listens there`;
    expect(await lab.send(adt("1"))).toEqual({ kind: "unreached", reason });
    expect(lab.destination.state).toMatchObject({ kind: "failed", reason });
  });

  it("did not reach a receiver that does not take the connection in time", async () => {
    const clock = new HandClock();
    // TEST-NET-1: nobody answers, or the network says so at once; neither way anything is written.
    await using lab = destinationTo(2575, { host: "192.0.2.1", connectTimeout: "3s" }, clock);
    const sending = lab.send(adt("1"));
    clock.pass(3_000);
    expect(await sending).toMatchObject({ kind: "unreached" });
  });

  it("does not know of a message that is not answered in time, and never takes a late answer for the next one", async () => {
    const clock = new HandClock();
    await using receiver = await Receiver.listen();
    await using lab = destinationTo(receiver.port, { replyTimeout: "3s" }, clock);
    receiver.onFrame = () => undefined;
    const sending = lab.send(adt("1"));
    await expect.poll(() => receiver.messages.length).toBe(1);
    clock.pass(3_000);
    expect(await sending).toEqual({ kind: "unconfirmed", reason: "no answer came within 3000 ms" });
    await receiver.connections[0]!.closed;
    receiver.onFrame = (body, sender) => sender.send(ackFor(body));
    expect(await lab.send(adt("1"))).toMatchObject({ kind: "delivered" });
    expect(receiver.connections.length).toBe(2);
  });

  it("does not know of a message whose receiver closes the connection instead of answering, or in the middle of it", async () => {
    await using receiver = await Receiver.listen();
    await using lab = destinationTo(receiver.port);
    for (const half of ["", "\x0bMSH|^~\\&|LAB"]) {
      receiver.onFrame = (_body, sender) => void sender.socket.end(half);
      expect(await lab.send(adt("1"))).toEqual({
        kind: "unconfirmed",
        reason: "the other side closed the connection",
      });
    }
  });

  it("does not know of a message that is answered for another one, or by something that is no acknowledgement", async () => {
    await using receiver = await Receiver.listen();
    await using lab = destinationTo(receiver.port);
    receiver.onFrame = (body, sender) => sender.send(ackFor(body, "AA", "99"));
    expect(await lab.send(adt("1"))).toEqual({
      kind: "unconfirmed",
      reason: 'The answer is for control id "99", not for "1".',
    });
    receiver.onFrame = (_body, sender) => sender.send("OK");
    expect(await lab.send(adt("1"))).toMatchObject({ kind: "unconfirmed" });
    expect(receiver.connections.length).toBe(2);
  });

  it("takes an answer for any control id where it is told to", async () => {
    await using receiver = await Receiver.listen();
    await using lab = destinationTo(receiver.port, { matchControlId: false });
    receiver.onFrame = (body, sender) => sender.send(ackFor(body, "AA", "99"));
    expect(await lab.send(adt("1"))).toMatchObject({ kind: "delivered" });
  });

  it("refuses an endless answer", async () => {
    await using receiver = await Receiver.listen();
    await using lab = destinationTo(receiver.port, { maxFrameBytes: 2_000 });
    receiver.onFrame = (_body, sender) => sender.write(`\x0b${"x".repeat(3_000)}`);
    expect(await lab.send(adt("1"))).toEqual({
      kind: "unconfirmed",
      reason: "the answer cannot be read: the frame is longer than 2000 bytes",
    });
  });

  it("does not send what would end the frame in the middle", async () => {
    await using receiver = await Receiver.listen();
    await using lab = destinationTo(receiver.port);
    expect(await lab.send(adt("1", { rest: "a\x1c\rb" }))).toMatchObject({ kind: "rejected", retry: false });
    expect(receiver.connections.length).toBe(0);
  });

  it("waits for nothing where the message asks for nothing, or where it is told so", async () => {
    await using receiver = await Receiver.listen();
    receiver.onFrame = () => undefined;
    await using lab = destinationTo(receiver.port);
    expect(await lab.send(adt("1", { accept: "NE", application: "NE" }))).toEqual({ kind: "delivered", reply: null });
    await using mute = destinationTo(receiver.port, { answer: "none" });
    expect(await mute.send(adt("2"))).toEqual({ kind: "delivered", reply: null });
    await expect.poll(() => receiver.messages.length).toBe(2);
  });

  it("takes whatever comes back where it is told to", async () => {
    await using receiver = await Receiver.listen();
    receiver.onFrame = (_body, sender) => sender.send("OK");
    await using lab = destinationTo(receiver.port, { answer: "any" });
    expect(await lab.send("no HL7")).toEqual({ kind: "delivered", reply: Buffer.from("OK") });
  });
});

describe("the connection of an MLLP destination", () => {
  it("that the receiver closed while it was idle is noticed before the write", async () => {
    await using receiver = await Receiver.listen();
    await using lab = destinationTo(receiver.port);
    for (const id of ["1", "2", "3"]) {
      expect(await lab.send(adt(id))).toMatchObject({ kind: "delivered" });
      const connection = receiver.connections.at(-1)!;
      connection.socket.end();
      await connection.closed;
    }
    expect(receiver.connections.length).toBe(3);
  });

  it("that the receiver closed behind the back of a busy process is noticed before the write", async () => {
    await using receiver = await ClosingReceiver.start(0);
    await using lab = destinationTo(receiver.port);
    for (const id of ["1", "2", "3"]) {
      expect(await lab.send(adt(id))).toMatchObject({ kind: "delivered" });
      receiver.standStillUntilClosed();
    }
  });

  it("that the receiver closed before a busy process had read the answer is noticed before the next write", async () => {
    await using receiver = await ClosingReceiver.start(50);
    await using lab = destinationTo(receiver.port);
    for (const id of ["1", "2", "3"]) {
      const sending = lab.send(adt(id));
      await vi.waitUntil(() => receiver.hasReceived, { timeout: 10_000, interval: 1 });
      receiver.standStillUntilClosed();
      expect(await sending).toMatchObject({ kind: "delivered" });
    }
  });

  it("is a new one where the last message was answered before all of it was read", async () => {
    let connections = 0;
    const impatient = createServer((socket) => {
      connections += 1;
      socket.on("error", () => undefined);
      socket.once("data", (chunk: Buffer) => {
        const isLarge = !chunk.includes(0x1c);
        if (isLarge) socket.pause();
        socket.write(`\x0b${ackFor(chunk.toString("latin1"), isLarge ? "AR" : "AA")}\x1c\r`);
      });
    });
    impatient.listen(0, "127.0.0.1");
    await once(impatient, "listening");
    await using lab = destinationTo((impatient.address() as AddressInfo).port);
    const large = adt("1", { rest: "x".repeat(50_000_000) });
    expect(await lab.send(large)).toMatchObject({ kind: "rejected", retry: false });
    expect(await lab.send(adt("2"))).toMatchObject({ kind: "delivered" });
    expect(connections).toBe(2);
    impatient.close();
  });

  it("is closed where the receiver speaks without being asked", async () => {
    await using receiver = await Receiver.listen();
    await using lab = destinationTo(receiver.port);
    expect(await lab.send(adt("1"))).toMatchObject({ kind: "delivered" });
    receiver.connections[0]!.send(ackFor(adt("2")));
    await receiver.connections[0]!.closed;
    expect(lab.destination.state).toMatchObject({ kind: "idle", reason: "the other side spoke without being asked" });
    receiver.onFrame = (body, sender) => sender.send(ackFor(body, "AE"));
    expect(await lab.send(adt("2"))).toMatchObject({ kind: "rejected" });
  });

  it("lets the application acknowledgement of a delivered message pass, before the next message and after it", async () => {
    await using receiver = await Receiver.listen();
    await using lab = destinationTo(receiver.port);
    const wishes = { accept: "AL", application: "AL" };
    let owed = "";
    receiver.onFrame = (body, sender) => {
      if (owed !== "") sender.send(ackFor(owed, "AR"));
      owed = body;
      sender.send(ackFor(body, "CA"));
    };
    expect(await lab.send(adt("1", wishes))).toMatchObject({ kind: "delivered" });
    expect(await lab.send(adt("2", wishes))).toMatchObject({ kind: "delivered" });
    receiver.connections[0]!.send(ackFor(adt("2"), "AE"));
    await expect.poll(() => lab.lines.filter(({ level }) => level === 40).length).toBeGreaterThan(0);
    expect(await lab.send(adt("3"))).toMatchObject({ kind: "delivered" });
    expect(receiver.connections.length).toBe(1);
  });

  it("is a new one for a message with the control id of one that an acknowledgement may still come for", async () => {
    await using receiver = await Receiver.listen();
    await using lab = destinationTo(receiver.port);
    receiver.onFrame = (body, sender) => sender.send(ackFor(body, "CA"));
    const body = adt("1", { accept: "AL", application: "AL" });
    expect(await lab.send(body)).toMatchObject({ kind: "delivered" });
    expect(await lab.send(body)).toMatchObject({ kind: "delivered" });
    expect(receiver.connections.length).toBe(2);
  });

  it("is a new one, too, where control ids are not looked at and an acknowledgement may still come", async () => {
    await using receiver = await Receiver.listen();
    await using lab = destinationTo(receiver.port, { matchControlId: false });
    const wishes = { accept: "AL", application: "AL" };
    receiver.onFrame = (body, sender) => sender.send(ackFor(body, "CA"));
    expect(await lab.send(adt("1", wishes))).toMatchObject({ kind: "delivered" });
    receiver.onFrame = (body, sender) => {
      // The application's answer to the first, and only then the one to this message.
      receiver.connections[0]!.send(ackFor(adt("1"), "AA"));
      sender.send(ackFor(body, "CE"));
    };
    expect(await lab.send(adt("2", wishes))).toMatchObject({ kind: "rejected" });
    expect(receiver.connections.length).toBe(2);
  });

  it("takes silence for an answer where the message asks to hear of errors alone", async () => {
    const clock = new HandClock();
    await using receiver = await Receiver.listen();
    await using lab = destinationTo(receiver.port, { replyTimeout: "3s" }, clock);
    receiver.onFrame = () => undefined;
    const wishes = { accept: "ER", application: "NE" };
    const first = lab.send(adt("1", wishes));
    await expect.poll(() => receiver.messages.length).toBe(1);
    await expect
      .poll(() => {
        clock.pass(3_000);
        return Promise.race([first, turn(null)]);
      })
      .toEqual({ kind: "delivered", reply: null });
    // Who said nothing may be gone: the next message finds that out by a connection of its own.
    receiver.onFrame = (body, sender) => sender.send(ackFor(body, "CR"));
    expect(await lab.send(adt("2", wishes))).toMatchObject({ kind: "rejected", retry: false });
    expect(receiver.connections.length).toBe(2);
  });

  it("is encrypted where it is told to, and refuses a receiver that it does not trust", async () => {
    const server = createTlsServer({ cert: certificate, key });
    await using receiver = await Receiver.listen(server, "secureConnection");
    await using lab = destinationTo(receiver.port, { tls: { ca: "test/support/tls/localhost.crt" } });
    expect(await lab.send(adt("1"))).toMatchObject({ kind: "delivered" });
    expect(await lab.send(adt("2"))).toMatchObject({ kind: "delivered" });
    expect(receiver.connections.length).toBe(1);
    await using wary = destinationTo(receiver.port, { tls: true });
    expect(await wary.send(adt("3"))).toMatchObject({ kind: "unreached" });
    await using misled = destinationTo(receiver.port, {
      tls: { ca: "test/support/tls/localhost.crt", serverName: "lab.example" },
    });
    expect(await misled.send(adt("4"))).toMatchObject({ kind: "unreached" });
    expect(receiver.messages).toEqual([adt("1"), adt("2")]);
  });
});

describe("an MLLP destination under a guard", () => {
  it("asks it right before the write, and writes nothing where it objects", async () => {
    await using receiver = await Receiver.listen();
    await using lab = destinationTo(receiver.port);
    expect(await lab.send(adt("1"))).toMatchObject({ kind: "delivered" });
    const objection = new NotLeaderError("Another node leads.");
    const shut = {
      mayWrite: () => {
        throw objection;
      },
    };
    await expect(lab.destination.send(deliveryOf(adt("2")), shut, neverAborted)).rejects.toBe(objection);
    expect(await lab.send(adt("3"))).toMatchObject({ kind: "delivered" });
    expect(receiver.messages).toEqual([adt("1"), adt("3")]);
    expect(receiver.connections.length).toBe(1);
  });

  it("asks it only once the connection stands", async () => {
    await using receiver = await Receiver.listen();
    await using lab = destinationTo(receiver.port);
    const seen: string[] = [];
    const guard = { mayWrite: () => void seen.push(lab.destination.state.kind) };
    await lab.destination.send(deliveryOf(adt("1")), guard, neverAborted);
    await lab.destination.send(deliveryOf(adt("2")), guard, neverAborted);
    expect(seen).toEqual(["connected", "connected"]);
  });

  it("does not ask it where nobody can be reached", async () => {
    await using lab = destinationTo(1);
    const guard = { mayWrite: vi.fn<() => void>() };
    expect(await lab.destination.send(deliveryOf(adt("1")), guard, neverAborted)).toMatchObject({ kind: "unreached" });
    expect(guard.mayWrite).not.toHaveBeenCalled();
  });

  it("that is called off before the write has reached nobody, and after it does not know", async () => {
    await using receiver = await Receiver.listen();
    await using lab = destinationTo(receiver.port);
    expect(await lab.send(adt("1"), AbortSignal.abort())).toEqual({ kind: "unreached", reason: "it was called off" });
    receiver.onFrame = () => undefined;
    const term = new AbortController();
    const sending = lab.send(adt("2"), term.signal);
    await expect.poll(() => receiver.messages.length).toBe(1);
    term.abort();
    expect(await sending).toEqual({
      kind: "unconfirmed",
      reason: "it was called off while it waited for the answer",
    });
    await receiver.connections.at(-1)!.closed;
  });

  it("that is closed ends what is under way, and sends nothing more", async () => {
    await using receiver = await Receiver.listen();
    await using lab = destinationTo(receiver.port);
    receiver.onFrame = () => undefined;
    const sending = lab.send(adt("1"));
    await expect.poll(() => receiver.messages.length).toBe(1);
    await lab.destination.close();
    expect(await sending).toMatchObject({ kind: "unconfirmed" });
    expect(await lab.send(adt("2"))).toEqual({ kind: "unreached", reason: "it was called off" });
    await turn();
    expect(lab.destination.state.kind).toBe("closed");
    expect(receiver.messages).toEqual([adt("1")]);
  });
});
