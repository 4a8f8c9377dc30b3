import { vi } from "vitest";
import { ConfigFiles } from "../support/config-folder.js";
import { calm, clusterNode } from "../support/election.js";
import { freePort } from "../support/free-ports.js";
import { type LocalNode, startLocalNode } from "../support/local-node.js";
import { createTestDatabase, type TestDatabase } from "../support/postgres.js";
import { adt, codeOf, Receiver, Sender } from "./mllp-scene.js";

/** What stands between the inbound `adt-in` with its router `adt` and the outbound `lab`. */
export type Modules = string;

/** A feed over MLLP to a laboratory that the test plays, run by nodes of the test's own process. */
export class FeedScene implements AsyncDisposable {
  readonly lab: Receiver;
  readonly database: TestDatabase;
  private readonly port: number;
  private readonly folder: ConfigFiles;
  private readonly nodes: LocalNode[] = [];
  private sent = 0;
  private sender: Sender | null = null;

  private constructor(database: TestDatabase, lab: Receiver, port: number, folder: ConfigFiles) {
    this.database = database;
    this.lab = lab;
    this.port = port;
    this.folder = folder;
  }

  static async open(modules: Modules): Promise<FeedScene> {
    const [database, lab, port] = [await createTestDatabase(), await Receiver.listen(), await freePort()];
    const scene = new FeedScene(database, lab, port, await ConfigFiles.write({}));
    await scene.define(modules);
    return scene;
  }

  async define(modules: Modules): Promise<void> {
    const text = `
import { defineHandler, defineInbound, defineOutbound, defineReference, defineRouter, send } from "holdfast/engine";
export const adtIn = defineInbound({ name: "adt-in", router: "adt", transport: { kind: "mllp", host: "127.0.0.1", port: ${this.port} } });
export const lab = defineOutbound({
  name: "lab",
  transport: { kind: "mllp", host: "127.0.0.1", port: ${this.lab.port} },
  retry: { backoff: "10ms", cap: "50ms" },
});
${modules}`;
    await this.folder.write({ "feed.ts": text });
  }

  async start(nodeId: string): Promise<LocalNode> {
    const local = await startLocalNode(clusterNode(this.database.url, nodeId, calm));
    this.nodes.push(local);
    await local.node.engine.open(this.folder.path);
    return local;
  }

  /** Sends one message with this in PID-3, and again until whoever leads has acknowledged it. */
  async send(patient: string): Promise<void> {
    this.sent += 1;
    const controlId = String(this.sent);
    for (;;) {
      try {
        this.sender ??= await Sender.to(this.port);
        if (codeOf(await this.sender.ask(adt(controlId, { rest: `PID|1||${patient}` }))) === `AA ${controlId}`) return;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      await this.sender?.[Symbol.asyncDispose]();
      this.sender = null;
    }
  }

  /** What the laboratory got, each message once, as [control id, PID-3, PID-5]. */
  get received(): readonly (readonly [controlId: string, patient: string, name: string])[] {
    const byId = new Map(this.lab.messages.map((message) => [field(message, "MSH", 9), message]));
    return [...byId].map(([id, message]) => [id, field(message, "PID", 3), field(message, "PID", 5)]);
  }

  /** PID-5 of a message that is sent now, once the laboratory has it. */
  async nameOf(patient: string): Promise<string> {
    await this.send(patient);
    const own = String(this.sent);
    const find = () => this.received.find(([id]) => id === own);
    await vi.waitUntil(() => find() !== undefined, { timeout: 15_000, interval: 10 });
    return find()?.[2] ?? "";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sender?.[Symbol.asyncDispose]();
    await Promise.all(this.nodes.map(async ({ node }) => await node.close()));
    await this.lab[Symbol.asyncDispose]();
    await this.folder[Symbol.asyncDispose]();
    await this.database[Symbol.asyncDispose]();
  }
}

function field(message: string, segment: string, at: number): string {
  const line = message.split("\r").find((text) => text.startsWith(segment)) ?? "";
  return line.split("|")[at] ?? "";
}
