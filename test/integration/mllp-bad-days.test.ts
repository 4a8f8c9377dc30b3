import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { adt, codeOf, listen, Sender } from "./mllp-scene.js";

/** An MLLP port in front of senders that do everything wrong. */
describe("an MLLP source", () => {
  it("serves 200 connections that open and close, again and again, and forgets none of them", async () => {
    await using scene = await listen({ maxConnections: 200 });
    await using steady = await Sender.to(scene.port);
    for (let wave = 0; wave < 3; wave += 1) {
      const senders = await Promise.all(Array.from({ length: 199 }, async () => await Sender.to(scene.port)));
      const answered = senders.map(async (sender, at) => {
        const id = `${wave}.${at}`;
        // Some leave in the middle of a message, some behind it without a word, the others wait for the answer.
        if (at % 4 === 0) sender.write(`\x0b${adt(id).slice(0, 40)}`);
        else sender.send(adt(id));
        if (at % 4 > 1) expect(codeOf(await sender.next())).toBe(`AA ${id}`);
        if (at % 4 === 1) sender.socket.resetAndDestroy();
        else sender.socket.destroy();
        await sender.closed;
      });
      await Promise.all(answered);
      expect(codeOf(await steady.ask(adt(`steady ${wave}`)))).toBe(`AA steady ${wave}`);
      await expect.poll(() => scene.source.state.connections).toBe(1);
    }
    expect(scene.said()).not.toContain("as many connections as are taken: further ones are refused");
  });

  it("refuses a message of 50 MB with AR, by its control id", async () => {
    await using scene = await listen();
    await using sender = await Sender.to(scene.port, { allowHalfOpen: true });
    void pour(sender, "7", 50);
    expect(codeOf(await sender.next())).toBe("AR 7");
    expect(await sender.next()).toBeNull();
    expect(scene.intake.arrivals).toEqual([]);
  });

  it("holds no more of endless messages than the longest may have, and serves the others meanwhile", async () => {
    await using scene = await listen({ maxFrameBytes: 1_048_576 });
    await using other = await Sender.to(scene.port);
    // They go on sending when they are told that it is over.
    const stubborn = { allowHalfOpen: true };
    const floods = await Promise.all(Array.from({ length: 10 }, async () => await Sender.to(scene.port, stubborn)));
    const before = process.memoryUsage().arrayBuffers;
    let peak = 0;
    let flooding = floods.length;
    for (const [at, flood] of floods.entries()) {
      void pour(flood, String(at), 50);
      void flood.closed.then(() => {
        flooding -= 1;
      });
    }
    for (let asked = 0; flooding > 0; asked += 1) {
      expect(codeOf(await other.ask(adt(`other ${asked}`)))).toBe(`AA other ${asked}`);
      peak = Math.max(peak, process.memoryUsage().arrayBuffers - before);
    }
    const poured = floods.reduce((sum, { socket }) => sum + socket.bytesWritten, 0);
    expect(poured).toBeGreaterThan(120_000_000);
    // 500 MB were on their way; ten messages of 1 MiB may be held, twice while they grow, besides what waits to be collected.
    expect(peak).toBeLessThan(100_000_000);
    expect(scene.intake.arrivals.every(({ body }) => body.includes("other"))).toBe(true);
  });

  it("reads messages that come in chunks of one byte on many connections at once", async () => {
    await using scene = await listen();
    const senders = await Promise.all(Array.from({ length: 20 }, async () => await Sender.to(scene.port)));
    const asked = senders.map(async (sender, at) => {
      for (const byte of Buffer.from(`\x0b${adt(String(at))}\x1c\r`)) {
        await new Promise<void>((resolve) => sender.socket.write(Uint8Array.of(byte), () => resolve()));
      }
      return codeOf(await sender.next());
    });
    expect(await Promise.all(asked)).toEqual(senders.map((_, at) => `AA ${at}`));
    for (const sender of senders) sender.socket.destroy();
  });

  it("takes nothing after it has stopped, however many are sending", async () => {
    await using scene = await listen();
    const senders = await Promise.all(Array.from({ length: 50 }, async () => await Sender.to(scene.port)));
    const acknowledged = new Set<string>();
    const sending = senders.map(async (sender, at) => {
      for (let count = 0; ; count += 1) {
        const id = `${at}.${count}`;
        const code = codeOf(await sender.ask(adt(id)));
        if (code === null) return;
        expect(code).toBe(`AA ${id}`);
        acknowledged.add(id);
      }
    });
    await expect.poll(() => acknowledged.size).toBeGreaterThan(500);
    await scene.source.stop();
    const taken = scene.intake.arrivals.length;
    await Promise.all(sending);
    expect(scene.intake.arrivals.length).toBe(taken);
    expect([...acknowledged].filter((id) => !scene.intake.kept.has(id))).toEqual([]);
    const late = connect({ port: scene.port, host: "127.0.0.1" });
    const error = await new Promise<NodeJS.ErrnoException>((resolve) => late.once("error", resolve));
    expect(error.code).toBe("ECONNREFUSED");
  });
});

/** Sends the beginning of a message, so many megabytes as fast as they are read, and hangs up. */
async function pour(sender: Sender, controlId: string, megabytes: number): Promise<void> {
  const chunk = Buffer.alloc(65_536, "x");
  sender.write(`\x0b${adt(controlId)}`);
  for (let sent = 0; sent < megabytes * 1_000_000 && !sender.socket.destroyed; sent += chunk.length) {
    if (sender.socket.write(chunk)) continue;
    await new Promise<void>((resolve) => {
      sender.socket.once("drain", resolve);
      void sender.closed.then(resolve);
    });
  }
  sender.socket.end();
}
