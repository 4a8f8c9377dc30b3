import type { Duplex } from "node:stream";
import pg from "pg";

/** The part of the driver that reads what a server sends. */
interface Wire {
  attachListeners(stream: Duplex): void;
}

/**
 * The driver's client, which survives what it cannot read. Its parser throws within the event of the socket, where nobody can
 * catch it: at a way of signing in that it does not know, at a value longer than a string can be. Here the connection fails with
 * it instead, and the question that was under way with the connection.
 */
export class GuardedClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config);
    // A pool listens only once it is connected.
    this.on("error", () => undefined);
    const { connection } = this as unknown as { readonly connection: Wire };
    const attach = connection.attachListeners.bind(connection);
    connection.attachListeners = (stream) => {
      const others = new Set(stream.listeners("data"));
      attach(stream);
      for (const read of stream.listeners("data"))
        if (!others.has(read)) guard(stream, read as (chunk: Buffer) => void);
    };
  }
}

function guard(stream: Duplex, read: (chunk: Buffer) => void): void {
  stream.removeListener("data", read);
  stream.on("data", (chunk: Buffer) => {
    try {
      read(chunk);
    } catch (error) {
      stream.destroy(error as Error);
    }
  });
}
