import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import {
  deliveryOf,
  listeningLog,
  neverAborted,
  openGuard,
  settingsOf,
} from "../../../../test/integration/mllp-scene.js";
import { systemClock } from "../../../election/clock.js";
import { createTcpDestination } from "./tcp-destination.js";
import { checkTcpOutbound } from "./tcp-settings.js";

const lines = { kind: "delimiter", delimiter: "\r\n" };

/** A receiver that answers each chunk with what the test says. */
async function receive(answer: (chunk: string) => string) {
  const sockets: Socket[] = [];
  let received = "";
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => {
      received += chunk.toString("latin1");
      socket.write(answer(chunk.toString("latin1")), "latin1");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const dispose = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  const { port } = server.address() as AddressInfo;
  return { port, sockets, received: () => received, [Symbol.asyncDispose]: dispose };
}

function destinationTo(port: number, given: object) {
  const destination = createTcpDestination({
    name: "lab",
    settings: settingsOf(checkTcpOutbound({ kind: "tcp", host: "127.0.0.1", port, ...given }, "lab.transport")),
    clock: systemClock,
    log: listeningLog().log,
    changed: () => undefined,
  });
  const send = async (body: string) => await destination.send(deliveryOf(body), openGuard, neverAborted);
  const dispose = async (): Promise<void> => await destination.close();
  return { destination, send, [Symbol.asyncDispose]: dispose };
}

describe("a TCP destination", () => {
  it("delivers by writing, where no answer is waited for", async () => {
    await using receiver = await receive(() => "");
    await using lab = destinationTo(receiver.port, { framing: lines });
    expect(await lab.send("one")).toEqual({ kind: "delivered", reply: null });
    expect(await lab.send("two")).toEqual({ kind: "delivered", reply: null });
    await expect.poll(receiver.received).toBe("one\r\ntwo\r\n");
    expect(receiver.sockets.length).toBe(1);
  });

  it("waits for an answer where it is told to", async () => {
    await using receiver = await receive((chunk) => `\0\x03${chunk.slice(2)}`);
    await using lab = destinationTo(receiver.port, { framing: { kind: "length", bytes: 2 }, waitForAnswer: true });
    expect(await lab.send("one")).toEqual({ kind: "delivered", reply: Buffer.from("one") });
    expect(await lab.send("two")).toEqual({ kind: "delivered", reply: Buffer.from("two") });
  });

  it("is rejected, and may come again, where the answer is not the one that is expected", async () => {
    await using receiver = await receive((chunk) => (chunk === "one\r\n" ? "ACK\r\n" : "NAK\r\n"));
    await using lab = destinationTo(receiver.port, { framing: lines, expect: "ACK" });
    expect(await lab.send("one")).toEqual({ kind: "delivered", reply: Buffer.from("ACK") });
    expect(await lab.send("two")).toEqual({ kind: "rejected", reason: 'The answer was "NAK".', retry: true });
  });

  it("does not take a second answer for that of the next message", async () => {
    await using receiver = await receive((chunk) => (chunk === "one\r\n" ? "ACK\r\nACK\r\n" : "NAK\r\n"));
    await using lab = destinationTo(receiver.port, { framing: lines, expect: "ACK" });
    expect(await lab.send("one")).toMatchObject({ kind: "delivered" });
    expect(await lab.send("two")).toMatchObject({ kind: "rejected" });
    expect(receiver.sockets.length).toBe(2);
  });

  it("gives a connection up where the receiver speaks without being asked", async () => {
    await using receiver = await receive(() => "ACK\r\n");
    await using lab = destinationTo(receiver.port, { framing: lines, expect: "ACK" });
    expect(await lab.send("one")).toMatchObject({ kind: "delivered" });
    receiver.sockets[0]?.write("A");
    await expect.poll(() => lab.destination.state.kind).toBe("idle");
    expect(lab.destination.state.reason).toBe("the other side spoke without being asked");
  });

  it("does not send what its framing cannot carry", async () => {
    await using receiver = await receive(() => "");
    await using lab = destinationTo(receiver.port, { framing: lines });
    expect(await lab.send("a\r\nb")).toMatchObject({ kind: "rejected", retry: false });
    expect(receiver.sockets.length).toBe(0);
  });
});
