import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import {
  adt,
  codeOf,
  HandClock,
  listen,
  prepare,
  promiseOfTest,
  Sender,
  stranger,
} from "../../../../test/integration/mllp-scene.js";
import { HoldfastError } from "../../../errors.js";

const certificate = {
  cert: "test/support/tls/localhost.crt",
  key: "test/support/tls/localhost.key",
};
const ca = readFileSync(certificate.cert);
const keyPair = { cert: readFileSync(certificate.cert), key: readFileSync(certificate.key) };

describe("an MLLP source", () => {
  it("acknowledges a message after its commit, not before", async () => {
    await using scene = await listen();
    await using sender = await Sender.to(scene.port);
    const commit = promiseOfTest<"take">();
    scene.intake.decide = async () => await commit.promise;
    sender.send(adt("7"));
    await expect.poll(() => scene.intake.bodies).toEqual([adt("7")]);
    expect(sender.socket.bytesRead).toBe(0);
    commit.resolve("take");
    expect(codeOf(await sender.next())).toBe("AA 7");
  });

  it("says who sent a message", async () => {
    await using scene = await listen();
    await using sender = await Sender.to(scene.port);
    await sender.ask(adt("7"));
    expect(scene.intake.arrivals[0]?.peer).toBe(`127.0.0.1:${sender.socket.localPort}`);
  });

  it("reads a message that comes byte by byte", async () => {
    await using scene = await listen();
    await using sender = await Sender.to(scene.port);
    for (const byte of `\x0b${adt("7")}\x1c\r`) {
      await new Promise<void>((resolve) => sender.socket.write(byte, () => resolve()));
    }
    expect(codeOf(await sender.next())).toBe("AA 7");
    expect(scene.intake.bodies).toEqual([adt("7")]);
  });

  it("takes an FS in a message as data", async () => {
    await using scene = await listen();
    await using sender = await Sender.to(scene.port);
    const body = adt("7", { rest: "OBX|1|ED|a\x1cb" }).concat("\x1c");
    expect(codeOf(await sender.ask(body))).toBe("AA 7");
    expect(scene.intake.bodies).toEqual([body]);
  });

  it("answers the messages of a connection in their order, whichever is committed first", async () => {
    await using scene = await listen({ maxUncommitted: 3 });
    await using sender = await Sender.to(scene.port);
    const commits = new Map(["1", "2", "3"].map((id) => [id, promiseOfTest<"take">()]));
    scene.intake.decide = async ({ body }) => await commits.get(body.toString().split("|")[9]!)!.promise;
    for (const id of commits.keys()) sender.send(adt(id));
    await expect.poll(() => scene.intake.arrivals.length).toBe(3);
    for (const id of ["3", "2", "1"]) commits.get(id)!.resolve("take");
    expect([codeOf(await sender.next()), codeOf(await sender.next()), codeOf(await sender.next())]).toEqual([
      "AA 1",
      "AA 2",
      "AA 3",
    ]);
  });

  it("takes no more of a connection than may be uncommitted", async () => {
    await using scene = await listen({ maxUncommitted: 2 });
    await using sender = await Sender.to(scene.port);
    await using other = await Sender.to(scene.port);
    const commit = promiseOfTest<"take">();
    scene.intake.decide = async ({ body }) => (body.includes("other") ? "take" : await commit.promise);
    for (const id of ["1", "2", "3", "4", "5"]) sender.send(adt(id));
    await expect.poll(() => scene.intake.arrivals.length).toBe(2);
    // That another one is served meanwhile shows that there was time to take more.
    for (const id of ["other 1", "other 2", "other 3"]) expect(codeOf(await other.ask(adt(id)))).toBe(`AA ${id}`);
    expect(scene.intake.arrivals.length).toBe(5);
    commit.resolve("take");
    for (const id of ["1", "2", "3", "4", "5"]) expect(codeOf(await sender.next())).toBe(`AA ${id}`);
  });

  it("answers AE where a message could not be kept, and goes on", async () => {
    await using scene = await listen();
    await using sender = await Sender.to(scene.port);
    scene.intake.decide = async () => ({ reason: "the database is away", retry: true });
    const ack = await sender.ask(adt("7"));
    expect(codeOf(ack)).toBe("AE 7");
    expect(ack).toContain("the database is away");
    scene.intake.decide = async () => "take";
    expect(codeOf(await sender.ask(adt("7")))).toBe("AA 7");
  });

  it("answers AR where a message need not come again", async () => {
    await using scene = await listen();
    await using sender = await Sender.to(scene.port);
    scene.intake.decide = async () => ({ reason: "too large for the queue", retry: false });
    expect(codeOf(await sender.ask(adt("7")))).toBe("AR 7");
  });

  it("answers a message that cannot be read as it is told to", async () => {
    for (const malformed of ["AE", "AR"] as const) {
      await using scene = await listen({}, { acks: { mode: "auto", malformed } });
      await using sender = await Sender.to(scene.port);
      scene.intake.malformed = "It begins with something else.";
      expect(codeOf(await sender.ask("no HL7"))).toBe(`${malformed} `);
      expect(scene.intake.bodies).toEqual(["no HL7"]);
    }
  });

  it("answers a resend with the very bytes that the first was answered with", async () => {
    await using scene = await listen();
    await using sender = await Sender.to(scene.port);
    const first = await sender.ask(adt("7"));
    await using again = await Sender.to(scene.port);
    expect(await again.ask(adt("7"))).toBe(first);
    expect(await again.ask(adt("8"))).not.toBe(first);
  });

  it("sends accept and application acknowledgement, one behind the other, where a message asks for both", async () => {
    await using scene = await listen();
    await using sender = await Sender.to(scene.port);
    sender.send(adt("7", { accept: "AL", application: "AL" }));
    expect(codeOf(await sender.next())).toBe("CA 7");
    expect(codeOf(await sender.next())).toBe("AA 7");
    expect(scene.intake.kept.get("7")?.toString("latin1").split("\x0bMSH")).toHaveLength(3);
  });

  it("closes a connection whose message was not kept and wants no acknowledgement", async () => {
    await using scene = await listen();
    await using sender = await Sender.to(scene.port);
    const silent = { accept: "NE", application: "NE" };
    sender.send(adt("1", silent));
    expect(codeOf(await sender.ask(adt("2")))).toBe("AA 2");
    scene.intake.decide = async () => ({ reason: "the database is away", retry: true });
    expect(await sender.ask(adt("3", silent))).toBeNull();
  });

  it("answers a sender that has ended its side behind the message", async () => {
    await using scene = await listen();
    await using sender = await Sender.to(scene.port, { allowHalfOpen: true });
    const commit = promiseOfTest<"take">();
    scene.intake.decide = async () => await commit.promise;
    sender.send(adt("1"));
    sender.send(adt("2"));
    sender.socket.end();
    await expect.poll(() => scene.intake.arrivals.length).toBe(1);
    commit.resolve("take");
    expect(codeOf(await sender.next())).toBe("AA 1");
    expect(codeOf(await sender.next())).toBe("AA 2");
    expect(await sender.next()).toBeNull();
    await expect.poll(() => scene.source.state.connections).toBe(0);
  });

  it("skips what lies between messages, and closes a connection that sends nothing else", async () => {
    await using scene = await listen({ maxGarbageBytes: 100 });
    await using sender = await Sender.to(scene.port);
    sender.write("\r\n\r\n");
    expect(codeOf(await sender.ask(adt("7")))).toBe("AA 7");
    sender.write("GET / HTTP/1.1\r\n".repeat(10));
    expect(await sender.next()).toBeNull();
    await expect.poll(() => scene.source.state.connections).toBe(0);
    expect(scene.lines).toContainEqual(
      expect.objectContaining({ bytes: 164, msg: "bytes that belong to no frame were skipped" }),
    );
    expect(scene.lines).toContainEqual(
      expect.objectContaining({ reason: "160 bytes belong to no MLLP frame: a frame begins with the byte 0B" }),
    );
  });

  it("takes an accept that rejects for a refusal", async () => {
    await using scene = await listen();
    await using sender = await Sender.to(scene.port);
    scene.intake.decide = async () => {
      throw new Error("a defect");
    };
    expect(codeOf(await sender.ask(adt("7")))).toBe("AE 7");
    expect(scene.said()).toContain("a message could not be taken in");
  });
});

describe("the limits of an MLLP source", () => {
  it("close a connection that is silent for too long, but none whose message is under commit", async () => {
    const clock = new HandClock();
    await using scene = await listen({ idleTimeout: "10s" }, { clock });
    await using silent = await Sender.to(scene.port);
    await using busy = await Sender.to(scene.port);
    const commit = promiseOfTest<"take">();
    scene.intake.decide = async () => await commit.promise;
    busy.send(adt("7"));
    await expect.poll(() => scene.intake.arrivals.length).toBe(1);
    await expect.poll(() => scene.source.state.connections).toBe(2);
    clock.pass(9_999);
    expect(scene.source.state.connections).toBe(2);
    clock.pass(1);
    await silent.closed;
    commit.resolve("take");
    expect(codeOf(await busy.next())).toBe("AA 7");
    clock.pass(10_000);
    await busy.closed;
    expect(scene.lines).toContainEqual(expect.objectContaining({ reason: "it was silent for 10000 ms" }));
  });

  it("count a connection's silence from its last message", async () => {
    const clock = new HandClock();
    await using scene = await listen({ idleTimeout: "10s" }, { clock });
    await using sender = await Sender.to(scene.port);
    for (const id of ["1", "2", "3"]) {
      clock.pass(9_000);
      expect(codeOf(await sender.ask(adt(id)))).toBe(`AA ${id}`);
    }
  });

  it("close a connection whose message does not come to its end, however busily it drips", async () => {
    const clock = new HandClock();
    await using scene = await listen({ readTimeout: "10s" }, { clock });
    await using sender = await Sender.to(scene.port);
    await sender.ask(adt("1"));
    const before = scene.intake.arrivals.length;
    sender.write("\x0bMSH|");
    let isClosed = false;
    void sender.closed.then(() => {
      isClosed = true;
    });
    await expect
      .poll(
        () => {
          sender.write("x");
          clock.pass(200);
          return isClosed;
        },
        { interval: 5 },
      )
      .toBe(true);
    expect(scene.intake.arrivals.length).toBe(before);
    expect(scene.lines).toContainEqual(
      expect.objectContaining({ reason: "a frame that began did not end within 10000 ms" }),
    );
  });

  it("refuse connections beyond the greatest number at once, with a line in the log, and take others again", async () => {
    await using scene = await listen({ maxConnections: 2 });
    const first = await Sender.to(scene.port);
    await using second = await Sender.to(scene.port);
    await expect.poll(() => scene.source.state.connections).toBe(2);
    await using third = await Sender.to(scene.port);
    await third.closed;
    expect(scene.lines).toContainEqual(
      expect.objectContaining({
        level: 40,
        max_connections: 2,
        msg: "as many connections as are taken: further ones are refused",
      }),
    );
    await first[Symbol.asyncDispose]();
    await expect.poll(() => scene.source.state.connections).toBe(1);
    await using fourth = await Sender.to(scene.port);
    expect(codeOf(await fourth.ask(adt("4")))).toBe("AA 4");
    expect(codeOf(await second.ask(adt("2")))).toBe("AA 2");
  });

  it("answer a message that is too long with AR, by its control id, and close the connection", async () => {
    await using scene = await listen({ maxFrameBytes: 10_000 });
    await using sender = await Sender.to(scene.port);
    expect(codeOf(await sender.ask(adt("1")))).toBe("AA 1");
    const ack = await sender.ask(adt("2", { rest: "x".repeat(1_000_000) }));
    expect(codeOf(ack)).toBe("AR 2");
    expect(ack).toContain("the frame is longer than 10000 bytes");
    expect(await sender.next()).toBeNull();
    expect(scene.intake.arrivals.length).toBe(1);
  });

  it("let a sender go on that was refused and sends all the same, though not for ever, and not while it pauses", async () => {
    const clock = new HandClock();
    await using scene = await listen({ maxFrameBytes: 10_000 }, { clock });
    const closedAfter = async (isSending: boolean): Promise<number> => {
      await using sender = await Sender.to(scene.port, { allowHalfOpen: true });
      expect(codeOf(await sender.ask(adt("1", { rest: "x".repeat(20_000) })))).toBe("AR 1");
      const since = clock.mono();
      const goOn = async (): Promise<number> => {
        if (isSending) await new Promise<void>((resolve) => sender.socket.write("x".repeat(100), () => resolve()));
        clock.pass(100);
        return scene.source.state.connections;
      };
      await expect.poll(goOn, { interval: 5, timeout: 20_000 }).toBe(0);
      return clock.mono() - since;
    };
    expect(await closedAfter(true)).toBeGreaterThan(20_000);
    expect(await closedAfter(false)).toBeLessThan(20_000);
  });

  it("answer AE to long messages while as much is under way as may be, and take short ones all the same", async () => {
    await using scene = await listen({ maxFrameBytes: 600_000, maxWaitingBytes: 1_200_000 });
    await using first = await Sender.to(scene.port);
    await using second = await Sender.to(scene.port);
    // It does not close its side, so that its connection lingers.
    await using third = await Sender.to(scene.port, { allowHalfOpen: true });
    await using other = await Sender.to(scene.port);
    const commits = new Map(["1", "2"].map((id) => [id, promiseOfTest<"take">()]));
    scene.intake.decide = async ({ body }) => (await commits.get(body.toString().split("|")[9]!)?.promise) ?? "take";
    const long = (id: string, bytes: number): string => adt(id, { rest: "x".repeat(bytes) });
    first.send(long("1", 550_000));
    second.send(long("2", 550_000));
    await expect.poll(() => scene.intake.arrivals.length).toBe(2);
    expect(codeOf(await third.ask(long("3", 550_000)))).toBe("AE 3");
    expect(codeOf(await other.ask(adt("4")))).toBe("AA 4");
    commits.get("1")!.resolve("take");
    expect(codeOf(await first.next())).toBe("AA 1");
    // What was refused is held no more, although its connection is still there.
    expect(codeOf(await other.ask(long("5", 450_000)))).toBe("AA 5");
    commits.get("2")!.resolve("take");
    expect(codeOf(await second.next())).toBe("AA 2");
  });

  it("let a sender that is busy sending see why its message is refused", async () => {
    await using scene = await listen({ maxFrameBytes: 10_000 });
    await using sender = await Sender.to(scene.port);
    sender.socket.pause();
    const body = Buffer.from(`\x0b${adt("7", { rest: "x".repeat(20_000_000) })}`);
    const error = await new Promise<unknown>((resolve) => sender.socket.write(body, resolve));
    expect(error ?? null).toBeNull();
    sender.socket.resume();
    expect(codeOf(await sender.next())).toBe("AR 7");
  });

  it("answer what came before a message that is too long, first", async () => {
    await using scene = await listen({ maxFrameBytes: 10_000, maxUncommitted: 5 });
    await using sender = await Sender.to(scene.port);
    const commit = promiseOfTest<"take">();
    scene.intake.decide = async () => await commit.promise;
    sender.send(adt("1"));
    sender.send(adt("2", { rest: "x".repeat(20_000) }));
    await expect.poll(() => scene.said()).toContain("a connection is closed: its bytes are not read on");
    commit.resolve("take");
    expect(codeOf(await sender.next())).toBe("AA 1");
    expect(codeOf(await sender.next())).toBe("AR 2");
    expect(await sender.next()).toBeNull();
  });
});

describe("an MLLP source that stops", () => {
  it("gives a message that is under commit its answer, and ends every other connection at once", async () => {
    await using scene = await listen();
    await using busy = await Sender.to(scene.port);
    await using idle = await Sender.to(scene.port);
    const commit = promiseOfTest<"take">();
    scene.intake.decide = async () => await commit.promise;
    busy.send(adt("7"));
    busy.send(adt("8"));
    await expect.poll(() => scene.intake.arrivals.length).toBe(1);
    await expect.poll(() => scene.source.state.connections).toBe(2);
    const stopped = scene.source.stop();
    await idle.closed;
    expect(scene.source.port).toBeNull();
    commit.resolve("take");
    expect(codeOf(await busy.next())).toBe("AA 7");
    await stopped;
    expect(await busy.next()).toBeNull();
    expect(scene.intake.arrivals.length).toBe(1);
    expect(scene.source.state).toMatchObject({ kind: "stopped", connections: 0 });
  });

  it("does not wait for connections without a message under commit, not even where they hold on to their side", async () => {
    await using scene = await listen({}, { clock: new HandClock() });
    await using idle = await Sender.to(scene.port, { allowHalfOpen: true });
    await using half = await Sender.to(scene.port, { allowHalfOpen: true });
    await half.ask(adt("7"));
    half.write("\x0bMSH|");
    await expect.poll(() => scene.source.state.connections).toBe(2);
    await scene.source.stop();
    expect(scene.source.state).toMatchObject({ kind: "stopped", connections: 0 });
    expect(idle.socket.bytesRead).toBe(0);
  });

  it("does not wait for a commit for longer than its bound, and acknowledges nothing after it", async () => {
    const clock = new HandClock();
    await using scene = await listen({}, { clock });
    await using sender = await Sender.to(scene.port);
    const commit = promiseOfTest<"take">();
    scene.intake.decide = async () => await commit.promise;
    sender.send(adt("7"));
    await expect.poll(() => scene.intake.arrivals.length).toBe(1);
    const stopped = scene.source.stop();
    await expect
      .poll(() => {
        clock.pass(500);
        return scene.source.state.kind;
      })
      .toBe("stopped");
    await stopped;
    commit.resolve("take");
    expect(await sender.next()).toBeNull();
  });

  it("takes no connection any more, and takes them again when it is started again", async () => {
    await using scene = await listen();
    const { port } = scene;
    await scene.source.stop();
    await expect(Sender.to(port)).rejects.toThrow("ECONNREFUSED");
    await scene.source.start();
    await using sender = await Sender.to(scene.source.port!);
    expect(codeOf(await sender.ask(adt("7")))).toBe("AA 7");
  });

  it("while it starts is stopped, and does not listen later", async () => {
    await using scene = await listen();
    await scene.source.stop();
    for (const isStopping of [false, true]) {
      const before = isStopping ? scene.source.stop() : null;
      const failed = expect(scene.source.start()).rejects.toThrow("was stopped while it started");
      await scene.source.stop();
      await Promise.all([before, failed]);
      expect(scene.source.port).toBeNull();
      expect(scene.source.state.kind).toBe("stopped");
    }
  });
});

describe("the port of an MLLP source", () => {
  it("that is taken is tried again for some seconds, which is told, and got once it is free", async () => {
    const clock = new HandClock();
    const other = createServer();
    other.listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as { readonly port: number };
    await using late = prepare({ port }, { clock });
    const started = late.source.start();
    await expect
      .poll(() => late.states.at(-1)?.reason)
      .toBe(`port ${port} is taken by another process; it is tried again`);
    other.close();
    await once(other, "close");
    await expect
      .poll(() => {
        clock.pass(100);
        return late.source.state.kind;
      })
      .toBe("listening");
    await started;
  });

  it("that stays taken is told as a failure with the port and the way out", async () => {
    const clock = new HandClock();
    await using holder = await listen();
    await using late = prepare({ port: holder.port }, { clock });
    const started = late.source.start().catch((reason: unknown) => reason);
    await expect
      .poll(() => {
        clock.pass(500);
        return late.source.state.kind;
      })
      .toBe("failed");
    const error = await started;
    expect(error).toBeInstanceOf(HoldfastError);
    expect(error).toMatchObject({
      code: "ADDRESS_IN_USE",
      message: `Inbound "adt-in" cannot listen on 127.0.0.1:${holder.port}: the port is taken by another process: stop that one, or choose another port.`,
    });
  });

  it("on an address of another machine fails at once", async () => {
    await expect(listen({ host: "192.0.2.1" })).rejects.toThrow(
      'Inbound "adt-in" cannot listen on 192.0.2.1:0: that is not an address of this machine: choose another host.',
    );
  });
});

describe("an MLLP source with TLS", () => {
  it("speaks TLS, and answers nobody who does not", async () => {
    await using scene = await listen({ tls: certificate });
    await using sender = await Sender.encryptedTo(scene.port, { ca });
    expect(codeOf(await sender.ask(adt("7")))).toBe("AA 7");
    await using plain = await Sender.to(scene.port);
    expect(await plain.ask(adt("8"))).toBeNull();
    expect(scene.intake.arrivals.length).toBe(1);
  });

  it("that requires a certificate takes only those who show one that it trusts", async () => {
    await using scene = await listen({ tls: { ...certificate, ca: certificate.cert, clientCertificate: "require" } });
    await using known = await Sender.encryptedTo(scene.port, { ca, ...keyPair });
    expect(codeOf(await known.ask(adt("7")))).toBe("AA 7");
    // In TLS 1.3 the client believes in the connection until it is told otherwise.
    const stranger = await Sender.encryptedTo(scene.port, { ca });
    expect(await stranger.ask(adt("8"))).toBeNull();
    expect(scene.intake.arrivals.length).toBe(1);
  });

  it("that asks for a certificate takes those without one too", async () => {
    await using scene = await listen({ tls: { ...certificate, ca: certificate.cert, clientCertificate: "request" } });
    await using without = await Sender.encryptedTo(scene.port, { ca });
    expect(codeOf(await without.ask(adt("7")))).toBe("AA 7");
    await using known = await Sender.encryptedTo(scene.port, { ca, ...keyPair });
    expect(codeOf(await known.ask(adt("8")))).toBe("AA 8");
  });

  it("that asks for a certificate refuses one that it does not trust", async () => {
    await using scene = await listen({ tls: { ...certificate, ca: certificate.cert, clientCertificate: "request" } });
    await using sender = await Sender.encryptedTo(scene.port, { ca, ...stranger });
    expect(await sender.ask(adt("7"))).toBeNull();
    expect(scene.said()).toContain("a connection is refused: its certificate is not trusted");
    expect(scene.intake.arrivals).toEqual([]);
  });

  it("ends handshakes that are under way when it stops", async () => {
    await using scene = await listen({ tls: certificate });
    await using silent = await Sender.to(scene.port);
    await using secure = await Sender.encryptedTo(scene.port, { ca });
    expect(codeOf(await secure.ask(adt("7")))).toBe("AA 7");
    await scene.source.stop();
    await silent.closed;
    await secure.closed;
  });
});
