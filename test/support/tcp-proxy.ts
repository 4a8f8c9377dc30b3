import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface Wire {
  readonly client: Socket;
  readonly server: Socket;
}

/** What to do with bytes on their way. Without one they pass. */
export interface Passage {
  toServer?(bytes: Buffer, wire: Wire): void;
  toClient?(bytes: Buffer, wire: Wire): void;
}

/** A wire between a client and a server that a test holds in its hands. */
export interface TcpProxy extends AsyncDisposable {
  readonly port: number;
  readonly wires: ReadonlySet<Wire>;
  passage: Passage;
  /** The same URL by way of this proxy. */
  through(url: string): string;
}

export async function startTcpProxy(
  target: { readonly host: string; readonly port: number },
  listenHost = "127.0.0.1",
): Promise<TcpProxy> {
  const wires = new Set<Wire>();
  const proxy = { passage: {} as Passage };
  const listener = createServer((client) => {
    const wire: Wire = { client, server: connect(target.port, target.host) };
    wires.add(wire);
    const end = () => {
      wires.delete(wire);
      client.destroy();
      wire.server.destroy();
    };
    for (const socket of [client, wire.server]) {
      socket.setNoDelay(true);
      socket.on("error", end);
      socket.on("close", end);
    }
    client.on("data", (bytes) => {
      if (proxy.passage.toServer === undefined) wire.server.write(bytes);
      else proxy.passage.toServer(bytes, wire);
    });
    wire.server.on("data", (bytes) => {
      if (proxy.passage.toClient === undefined) client.write(bytes);
      else proxy.passage.toClient(bytes, wire);
    });
  });
  listener.listen(0, listenHost);
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  return Object.assign(proxy, {
    port,
    wires,
    through(url: string) {
      const changed = new URL(url);
      changed.host = `127.0.0.1:${port}`;
      return changed.href;
    },
    async [Symbol.asyncDispose]() {
      for (const { client, server } of wires) {
        client.destroy();
        server.destroy();
      }
      await new Promise((resolve) => listener.close(resolve));
    },
  });
}
