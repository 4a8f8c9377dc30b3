import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { createSecureContext, TLSSocket } from "node:tls";
import { certificate } from "./certificate.js";
import type { Peer, Way } from "./network.js";
import { CommandCompletions } from "./wire-frames.js";

/** What becomes of a connection whose COMMIT was done and not answered. */
export type LostReply = "silence" | "end";

/** A wire between nodes and their PostgreSQL. It ends their TLS, and understands as much of the protocol as to see a COMMIT answered. */
export interface WireProxy extends AsyncDisposable {
  readonly address: string;
  readonly port: number;
  /** All that is sent is so late from now on, each way. */
  delay(ms: number): void;
  /** Nothing passes from now on, and neither side is told. What is sent meanwhile arrives after `mend`, as TCP sends it again. */
  cut(way: Way): void;
  mend(): void;
  /** The next COMMIT is done without its client being told. Resolves when it happened; false where none came in time. */
  loseReply(how: LostReply, withinMs: number): Promise<boolean>;
}

const wishForTls = Buffer.from([0, 0, 0, 8, 4, 0xd2, 0x16, 0x2f]);
const secureContext = createSecureContext({
  cert: readFileSync(certificate.crt),
  key: readFileSync(certificate.key),
});

interface Conditions {
  delayMs: number;
  cut: Way | null;
  reply: { readonly how: LostReply; readonly done: () => void } | null;
}

interface Wire {
  readonly client: Socket;
  readonly server: Socket;
  readonly toServer: Passage;
  readonly toClient: Passage;
}

export async function startWireProxy(address: string, target: Peer): Promise<WireProxy> {
  const wires = new Set<Wire>();
  const conditions: Conditions = { delayMs: 0, cut: null, reply: null };
  const listener = createServer((socket) => {
    // The first thing that a client sends is its wish for TLS, eight bytes that no other message begins with.
    socket.once("data", (bytes) => {
      const client = bytes.equals(wishForTls) ? secured(socket) : socket;
      const wire = openWire(client, target, conditions);
      if (client === socket) wire.toServer.push(bytes);
      wires.add(wire);
      client.on("close", () => wires.delete(wire));
    });
    socket.on("error", () => socket.destroy());
  });
  listener.listen(0, address);
  await once(listener, "listening");
  return {
    address,
    port: (listener.address() as AddressInfo).port,
    delay(ms) {
      conditions.delayMs = ms;
    },
    cut(way) {
      conditions.cut = way;
    },
    mend() {
      conditions.cut = null;
      for (const { toServer, toClient } of wires) {
        toServer.pump();
        toClient.pump();
      }
    },
    loseReply: (how, withinMs) =>
      new Promise((resolve) => {
        const settle = (happened: boolean): void => {
          conditions.reply = null;
          clearTimeout(timer);
          resolve(happened);
        };
        const timer = setTimeout(() => settle(false), withinMs);
        conditions.reply = { how, done: () => settle(true) };
      }),
    async [Symbol.asyncDispose]() {
      for (const { client, server } of wires) {
        client.destroy();
        server.destroy();
      }
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}

function secured(socket: Socket): Socket {
  socket.write("S");
  return new TLSSocket(socket, { isServer: true, secureContext });
}

function openWire(client: Socket, target: Peer, conditions: Conditions): Wire {
  const server = connect(target.port, target.address);
  const wire: Wire = {
    client,
    server,
    toServer: new Passage(server, conditions, "to"),
    toClient: new Passage(client, conditions, "from"),
  };
  const completions = new CommandCompletions();
  let muted = false;
  client.on("data", (bytes) => wire.toServer.push(bytes));
  server.on("data", (bytes) => {
    const committed = completions.take(bytes).includes("COMMIT");
    if (!muted && committed && conditions.reply !== null) {
      muted = true;
      if (conditions.reply.how === "end") client.destroy();
      conditions.reply.done();
    }
    if (!muted) wire.toClient.push(bytes);
  });
  for (const [socket, passage] of [
    [client, wire.toServer],
    [server, wire.toClient],
  ] as const) {
    socket.setNoDelay(true);
    // Whatever ended the one side, a close follows, and it is that which is passed on.
    socket.on("error", () => socket.destroy());
    socket.on("close", () => passage.push(null));
  }
  return wire;
}

/** One direction of a wire. What goes in comes out in the same order, late or held up as the conditions say; null is the end of it. */
class Passage {
  private readonly held: { readonly due: number; readonly bytes: Buffer | null }[] = [];
  private readonly to: Socket;
  private readonly conditions: Conditions;
  private readonly way: Way;
  private timer: NodeJS.Timeout | null = null;

  constructor(to: Socket, conditions: Conditions, way: Way) {
    this.to = to;
    this.conditions = conditions;
    this.way = way;
  }

  push(bytes: Buffer | null): void {
    this.held.push({ due: performance.now() + this.conditions.delayMs, bytes });
    this.pump();
  }

  pump(): void {
    if (this.timer !== null || this.conditions.cut === "both" || this.conditions.cut === this.way) return;
    for (let next = this.held[0]; next !== undefined; next = this.held[0]) {
      const wait = next.due - performance.now();
      if (wait > 0) {
        this.timer = setTimeout(() => {
          this.timer = null;
          this.pump();
        }, wait);
        return;
      }
      this.held.shift();
      if (next.bytes === null) this.to.destroy();
      else if (this.to.writable) this.to.write(next.bytes);
    }
  }
}
