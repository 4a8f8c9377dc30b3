import type { FastifyInstance, InjectOptions } from "fastify";
import { createServer } from "../../src/server/serve.js";
import { adt, codeOf, Receiver, Sender } from "../integration/mllp-scene.js";
import { ConfigFiles, type Files } from "../support/config-folder.js";
import { calm, clusterNode } from "../support/election.js";
import { freePort } from "../support/free-ports.js";
import { type LocalNode, startLocalNode } from "../support/local-node.js";
import { createTestDatabase, type TestDatabase } from "../support/postgres.js";

/** ADT to the laboratory and the pharmacy; patient "nobody" is filtered, patient "broken" makes the handler throw. */
export function feed(port: number, labPort: number, pharmacyPort: number, inbound = "adt-in"): Files {
  return {
    "feed.ts": `
import { defineHandler, defineInbound, defineOutbound, defineRouter, send } from "holdfast/engine";

const at = (port: number) => ({ kind: "mllp", host: "127.0.0.1", port }) as const;
const retry = { backoff: "10ms", cap: "50ms" } as const;
export const adtIn = defineInbound({ name: "${inbound}", router: "adt", transport: at(${port}) });
export const adt = defineRouter({
  name: "adt",
  handlers: ["to-lab", "to-pharmacy"],
  route: (message) => (message.type === "ADT^A01" ? ["to-lab", "to-pharmacy"] : []),
});
export const toLab = defineHandler({
  name: "to-lab",
  outbounds: ["lab"],
  handle: (message) => {
    const hl7 = message.hl7();
    if (hl7.get("PID-3") === "broken") throw new Error("no such ward");
    return hl7.get("PID-3") === "nobody" ? [] : [send("lab", hl7.set("MSH-5", "LAB"))];
  },
});
export const toPharmacy = defineHandler({
  name: "to-pharmacy",
  outbounds: ["pharmacy"],
  handle: (message) => (message.hl7().get("PID-3") === "nobody" ? [] : [send("pharmacy", message.body)]),
});
export const lab = defineOutbound({ name: "lab", transport: at(${labPort}), retry });
export const pharmacy = defineOutbound({ name: "pharmacy", transport: at(${pharmacyPort}), retry });
`,
  };
}

export const visit = (controlId: string, patient: string): string => adt(controlId, { rest: `PID|1||${patient}` });

async function connected(port: number): Promise<Sender> {
  for (;;) {
    try {
      return await Sender.to(port);
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly bytes: Buffer;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export class ServedEngineNode {
  readonly local: LocalNode;
  readonly app: FastifyInstance;

  constructor(local: LocalNode) {
    this.local = local;
    this.app = createServer(local.node);
  }

  get node() {
    return this.local.node;
  }

  async ask(method: "GET" | "POST", url: string, payload?: unknown, more: InjectOptions = {}): Promise<Answer> {
    const given = payload === undefined ? {} : { payload: payload as object };
    const reply = await this.app.inject({ method, url, ...given, ...more });
    const isJson = String(reply.headers["content-type"]).startsWith("application/json");
    const body = isJson ? reply.json<Answer["body"]>() : {};
    return { status: reply.statusCode, headers: reply.headers, bytes: reply.rawPayload, text: reply.body, body };
  }

  get = async (url: string, more: InjectOptions = {}): Promise<Answer> => await this.ask("GET", url, undefined, more);
  post = async (url: string, payload?: unknown, more: InjectOptions = {}): Promise<Answer> =>
    await this.ask("POST", url, payload, more);

  async close(): Promise<void> {
    await this.app.close();
    await this.node.close();
  }
}

/** A leader with the graph, another node that has none, and the two systems that get the messages. */
export class EngineScene implements AsyncDisposable {
  readonly database: TestDatabase;
  readonly lab: Receiver;
  readonly pharmacy: Receiver;
  readonly folder: ConfigFiles;
  readonly port: number;
  readonly leader: ServedEngineNode;
  readonly other: ServedEngineNode;
  private sender: Sender;

  private constructor(
    parts: Pick<EngineScene, "database" | "lab" | "pharmacy" | "folder" | "port" | "leader" | "other">,
    sender: Sender,
  ) {
    ({
      database: this.database,
      lab: this.lab,
      pharmacy: this.pharmacy,
      folder: this.folder,
      port: this.port,
      leader: this.leader,
      other: this.other,
    } = parts);
    this.sender = sender;
  }

  static async open(): Promise<EngineScene> {
    const database = await createTestDatabase();
    const [lab, pharmacy] = [await Receiver.listen(), await Receiver.listen()];
    const port = await freePort();
    const folder = await ConfigFiles.write(feed(port, lab.port, pharmacy.port));
    const leader = new ServedEngineNode(await startLocalNode(clusterNode(database.url, "a", calm)));
    await leader.node.engine.open(folder.path);
    const sender = await connected(port);
    const other = new ServedEngineNode(await startLocalNode(clusterNode(database.url, "b", calm)));
    return new EngineScene({ database, lab, pharmacy, folder, port, leader, other }, sender);
  }

  /** Sends a message in, as long as it is told to come again, and answers with its id once all that is to become of it has. */
  async receive(controlId: string, patient: string, type = "ADT^A01"): Promise<string> {
    for (;;) {
      if (this.sender.socket.destroyed) this.sender = await connected(this.port);
      const code = codeOf(await this.sender.ask(visit(controlId, patient).replace("ADT^A01", type)));
      if (code === `AA ${controlId}`) return await this.settled(controlId);
      if (code !== null && code !== `AE ${controlId}`) throw new Error(`${controlId} was answered with ${code}`);
    }
  }

  async settled(controlId: string): Promise<string> {
    for (;;) {
      const [row] = (await this.leader.node.engine.book.search({ controlId }, { limit: 1 })).items;
      const account = row === undefined ? null : await this.leader.node.engine.book.message(row.id);
      if (account !== null && account.pending.length === 0) return account.id;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sender[Symbol.asyncDispose]();
    await this.other.close();
    await this.leader.close();
    await this.folder[Symbol.asyncDispose]();
    await this.lab[Symbol.asyncDispose]();
    await this.pharmacy[Symbol.asyncDispose]();
    await this.database.drop();
  }
}
