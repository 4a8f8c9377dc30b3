import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { monotonicMs } from "../clock.js";
import type { EffectEvent, HistoryEvent } from "../history.js";

type Sink = EffectEvent["sink"];
const sinks: readonly Sink[] = ["checking", "trusting"];

/** Two systems outside that leaders act on. One refuses an epoch below the highest that it has seen; the other one believes everybody. */
export class Sinks implements AsyncDisposable {
  readonly urls: Readonly<Record<Sink, string>>;
  private readonly servers: readonly Server[];

  private constructor(servers: readonly Server[], host: string) {
    this.servers = servers;
    const [checking = "", trusting = ""] = servers.map((server) => {
      const { port } = server.address() as AddressInfo;
      return `http://${host}:${port}/`;
    });
    this.urls = { checking, trusting };
  }

  static async listen(host: string, log: (event: HistoryEvent) => void): Promise<Sinks> {
    const servers = sinks.map((sink) => sinkServer(sink, log));
    for (const server of servers) {
      server.listen(0, host);
      await once(server, "listening");
    }
    return new Sinks(servers, host);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.servers) server.closeAllConnections();
    await Promise.all(this.servers.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}

function sinkServer(sink: Sink, log: (event: HistoryEvent) => void): Server {
  const highest = new Map<string, bigint>();
  /** Compared and remembered at once, before anything else can come between. */
  const accepts = (role: string, epoch: bigint): boolean => {
    const known = highest.get(role) ?? 0n;
    if (epoch > known) highest.set(role, epoch);
    return sink === "trusting" || epoch >= known;
  };
  return createServer((request, response) => {
    void bodyOf(request).then((body) => {
      if (body === null) return response.destroy();
      const { node, role, epoch, gateAt } = body;
      const accepted = accepts(role, BigInt(epoch));
      const by = `${sink}-sink`;
      log({ by, at: monotonicMs(), kind: "effect", sink, node, role, epoch, gateAt, accepted });
      if (!accepted) log({ by, at: monotonicMs(), kind: "rejection", code: "SINK_REFUSED" });
      return response.writeHead(accepted ? 204 : 409).end();
    });
  });
}

/** Null where it broke off: nothing of it counts. */
async function bodyOf(
  request: IncomingMessage,
): Promise<Pick<EffectEvent, "node" | "role" | "epoch" | "gateAt"> | null> {
  let text = "";
  try {
    for await (const piece of request.setEncoding("utf8")) text += piece;
    return JSON.parse(text);
  } catch {
    return null;
  }
}
