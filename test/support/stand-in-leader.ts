import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { JobLedger } from "./job-ledger.js";

/** What goes wrong with a request. */
export type Fault =
  | { readonly kind: "not_leader"; readonly leaderUrl: string | null }
  | { readonly kind: "refuse"; readonly status: number; readonly error: string; readonly message?: string }
  /** Nothing is ever answered. */
  | { readonly kind: "hang" }
  /** The connection is cut before anything is done. */
  | { readonly kind: "reset" }
  /** It is done, and the connection is cut before the answer. */
  | { readonly kind: "lost_reply" }
  | { readonly kind: "garbage" }
  /** As a proxy would, in JSON. */
  | { readonly kind: "stranger" };

export interface Heard {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly authorization: string | undefined;
}

type Deed = { readonly status: number; readonly body?: object | null };

const lookMs = 500;
const notFound: Deed = { status: 404, body: { error: "NOT_FOUND", message: "There is nothing here." } };

/** A node's HTTP for agents without a node, over jobs in memory; and everything can go wrong with it. */
export class StandInLeader implements AsyncDisposable {
  readonly url: string;
  readonly ledger: JobLedger;
  readonly heard: Heard[] = [];
  /** Asked for each request: what goes wrong with this one. */
  fault: (path: string, heard: Heard) => Fault | null = () => null;
  private readonly server: Server;
  private readonly watchers = new Set<() => void>();

  private constructor(server: Server, ledger: JobLedger, scheme: "http" | "https") {
    this.server = server;
    this.ledger = ledger;
    this.url = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(ledger = new JobLedger(), port = 0): Promise<StandInLeader> {
    return await StandInLeader.listen(createServer(), "http", ledger, port);
  }

  /** With the certificate of test/support/tls. */
  static async startSecure(ledger = new JobLedger()): Promise<StandInLeader> {
    const read = (name: string): Buffer => readFileSync(new URL(`./tls/localhost.${name}`, import.meta.url));
    return await StandInLeader.listen(createSecureServer({ cert: read("crt"), key: read("key") }), "https", ledger, 0);
  }

  private static async listen(server: Server, scheme: "http" | "https", ledger: JobLedger, port: number) {
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    const leader = new StandInLeader(server, ledger, scheme);
    server.on("request", (request, response) => {
      leader.serve(request, response).catch(() => request.destroy());
    });
    return leader;
  }

  /** How often this path was asked for. */
  count(path: string): number {
    return this.heard.filter((each) => each.path.endsWith(path)).length;
  }

  /** Resolves when so many requests for this path have come. */
  async asked(path: string, times = 1): Promise<void> {
    while (this.count(path) < times) await new Promise<void>((resolve) => this.watchers.add(resolve));
  }

  /** Every fault once, in this order, for requests of this path. */
  failNext(path: string, ...faults: readonly Fault[]): void {
    const left = [...faults];
    this.fault = (asked) => (asked.endsWith(path) ? (left.shift() ?? null) : null);
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? "";
    const body = request.method === "GET" ? {} : ((await json(request)) as Heard["body"]);
    const heard = { path, body, authorization: request.headers.authorization };
    this.heard.push(heard);
    const fault = this.fault(path, heard);
    for (const wake of this.watchers) wake();
    this.watchers.clear();
    if (fault?.kind === "hang") return;
    if (fault?.kind === "reset") return void request.socket.resetAndDestroy();
    if (fault?.kind === "garbage") return void response.writeHead(200, { "x-holdfast-node": "a" }).end("<html>");
    if (fault?.kind === "stranger") return void response.writeHead(200).end('{"tasks":[]}');
    const deed = this.refusal(fault) ?? (await this.act(path, body, response));
    if (fault?.kind === "lost_reply") return void request.socket.resetAndDestroy();
    response.writeHead(deed.status, { "content-type": "application/json", "x-holdfast-node": "a" });
    response.end(deed.body === undefined ? undefined : JSON.stringify(deed.body));
  }

  private refusal(fault: Fault | null): Deed | null {
    if (fault?.kind === "not_leader") {
      const leader = { leader_id: null, leader_url: fault.leaderUrl, leader_epoch: null };
      return { status: 409, body: { error: "NOT_LEADER", ...leader, node_id: "a", role: "STANDBY" } };
    }
    if (fault?.kind !== "refuse") return null;
    return { status: fault.status, body: { error: fault.error, message: fault.message ?? "No." } };
  }

  private async act(path: string, body: Heard["body"], response: ServerResponse): Promise<Deed> {
    const { ledger } = this;
    const [, , , leaseId = "", deed] = path.split("/");
    if (path === "/health") return { status: 200, body: { status: "ok" } };
    if (path === "/v1/agents/heartbeat") return { status: 200, body: { agent: body.agent } };
    if (path === "/v1/leases") return await this.lease(body, response);
    if (path === "/v1/results") {
      const results = body.results as Parameters<JobLedger["report"]>[0][];
      return { status: 200, body: { results: results.map((result) => ledger.report(result)) } };
    }
    if (deed === "give-back") return { status: 200, body: ledger.giveBack(leaseId) };
    if (deed !== "renew") return notFound;
    const renewed = ledger.renew(leaseId, (body.progress ?? []) as Parameters<JobLedger["renew"]>[1]);
    return renewed === null ? notFound : { status: 200, body: renewed };
  }

  private async lease(body: Heard["body"], response: ServerResponse): Promise<Deed> {
    const { ledger } = this;
    const until = performance.now() + Number(body.timeout_ms);
    for (;;) {
      if (response.destroyed) return { status: 204 };
      const leased = ledger.lease(Number(body.max_tasks));
      if (leased !== null) {
        const giveBack = (): void => void (response.writableFinished || ledger.giveBack(leased.lease_id));
        response.once("close", giveBack);
        return { status: 200, body: leased };
      }
      const leftMs = until - performance.now();
      if (leftMs <= 0) return { status: 204 };
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          clearTimeout(timer);
          response.off("close", wake);
          ledger.waiting.delete(wake);
          resolve();
        };
        // Leases also run out, and nobody tells of that.
        const timer = setTimeout(wake, Math.min(leftMs, lookMs));
        response.once("close", wake);
        ledger.waiting.add(wake);
      });
    }
  }

  /** As if it had crashed: every connection is cut. */
  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    this.server.closeAllConnections();
    await closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
