import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { NotificationBody } from "../../src/alerts/notification.js";
import { waitUntil } from "../../src/store/embedded/wait-until.js";

export interface ReceivedPost {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** An HTTP server that somebody is told things at. It keeps all of it, in the order in which it came. */
export class NotificationReceiver implements AsyncDisposable {
  readonly posts: ReceivedPost[] = [];
  /** What the next posts are answered with; 200 where there is nothing more. */
  readonly answers: { readonly status: number; readonly headers?: Readonly<Record<string, string>> }[] = [];
  private readonly server: Server;

  private constructor(server: Server) {
    this.server = server;
  }

  static async start(): Promise<NotificationReceiver> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const { url: path = "", headers } = request;
        receiver.posts.push({ path, headers, text: Buffer.concat(chunks).toString() });
        const { status, headers: said = {} } = receiver.answers.shift() ?? { status: 200 };
        response.writeHead(status, said).end(status < 300 ? "ok" : "");
      });
    });
    const receiver = new NotificationReceiver(server);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get bodies(): readonly Record<string, unknown>[] {
    return this.posts.map(({ text }) => JSON.parse(text) as Record<string, unknown>);
  }

  /** What webhooks were told, of this rule where one is named. */
  notifications(name?: string): readonly NotificationBody[] {
    const all = this.bodies as unknown as readonly NotificationBody[];
    return name === undefined ? all : all.filter((notification) => notification.name === name);
  }

  /** Resolves when a rule's alerts were told these kinds of change, in this order, and no others. */
  async told(name: string, kinds: readonly string[], patienceMs = 60_000): Promise<void> {
    const seen = (): string =>
      this.notifications(name)
        .map(({ kind }) => kind)
        .join();
    const isTold = await waitUntil(() => seen() === kinds.join(), patienceMs);
    if (!isTold) throw new Error(`"${name}" was told [${seen()}] and not [${kinds.join()}].`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
