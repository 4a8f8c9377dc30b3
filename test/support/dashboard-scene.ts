import { rm } from "node:fs/promises";
import { createQueue } from "../../src/queue/queue.js";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { ConfigFiles, type Files } from "./config-folder.js";
import { clusterNode, heirOf, quick } from "./election.js";
import { freePort } from "./free-ports.js";
import { startLocalNode } from "./local-node.js";
import { createTestDatabase, makeTestDirectory } from "./postgres.js";
import { ServeProcess, type ServeSettings } from "./serve-process.js";

/** Words that everything is filled with: ordinary ones, or such as would be markup if they were not shown as text. */
export interface Words {
  readonly nodes: readonly string[];
  /** Names of lanes in a queue of an application's own. */
  readonly lanes: readonly string[];
  /** What the messages say. */
  readonly notes: readonly string[];
}

const ordinaryWords: Words = {
  nodes: ["berlin", "hamburg", "munich"],
  lanes: ["customer-17", "customer-42", "customer-99"],
  notes: ["Admitted to internal medicine", "Transferred to surgery", "Allergic to penicillin", "Discharged home"],
};

export interface DashboardScene extends AsyncDisposable {
  readonly databaseUrl: string;
  readonly nodes: readonly ServeProcess[];
  /** The secrets, by the role of the token. */
  readonly tokens: Readonly<Record<"admin" | "operator" | "viewer", string>>;
  /** The node that leads a role, once one does that is not among those left out. */
  leaderOf(role: string, without?: readonly ServeProcess[]): Promise<ServeProcess>;
}

const patienceMs = 30_000;
const nightly = { name: "nightly-report", schedule: "0 2 * * *", time_zone: "Europe/Berlin", op: "report" };
const often = { name: "reconcile", schedule: "*/5 * * * *", op: "reconcile" };

/** Three nodes in processes of their own, with a message graph, tokens, jobs, an agent, dead letters and lanes that wait. */
export async function startDashboardScene(words: Words = ordinaryWords): Promise<DashboardScene> {
  const ending: (() => Promise<unknown>)[] = [];
  const dispose = async (): Promise<void> => {
    for (const end of ending.splice(0).reverse()) await end();
  };
  try {
    const database = await createTestDatabase();
    ending.push(() => database.drop());
    const archive = await makeTestDirectory();
    ending.push(() => rm(archive, { recursive: true, force: true }));
    const folder = await ConfigFiles.write(graph(archive, await freePort(), await freePort()));
    ending.push(() => folder[Symbol.asyncDispose]());
    const nodes: ServeProcess[] = [];
    for (const id of words.nodes) {
      const settings: ServeSettings = {
        "cluster.enabled": true,
        "store.url": database.url,
        "cluster.node_id": id,
      };
      const env = { HOLDFAST_CRONS: JSON.stringify([nightly, often]) };
      const node = await ServeProcess.start({ args: ["--config", folder.path], settings, env });
      ending.push(() => node[Symbol.asyncDispose]());
      nodes.push(node);
    }
    const leaderOf = (role: string, without: readonly ServeProcess[] = []) =>
      findLeader(
        nodes.filter((node) => !without.includes(node)),
        role,
      );
    await Promise.all([leaderOf("engine"), leaderOf("scheduler")]);
    await Promise.all([heirOf(database.url, "engine"), heirOf(database.url, "scheduler")]);
    const tokens = await createTokens(nodes);
    const scene = { databaseUrl: database.url, nodes, tokens, leaderOf, [Symbol.asyncDispose]: dispose };
    await furnish(scene, words);
    return scene;
  } catch (error) {
    await dispose();
    throw error;
  }
}

export const bearer = (secret: string): { readonly authorization: string } => ({ authorization: `Bearer ${secret}` });

/** One outbound takes all, one cannot be reached, and what is said of allergies fells its handler. */
function graph(archive: string, port: number, closedPort: number): Files {
  return {
    "adt.ts": `
import { defineHandler, defineInbound, defineOutbound, defineRouter, send } from "holdfast/engine";

export const adt = defineInbound({
  name: "adt",
  router: "admissions",
  transport: { kind: "mllp", host: "127.0.0.1", port: ${port} },
});
export const admissions = defineRouter({ name: "admissions", handlers: ["to-archive", "to-lab"], route: () => ["to-archive", "to-lab"] });
export const toArchive = defineHandler({
  name: "to-archive",
  outbounds: ["archive"],
  handle: (message) => {
    if (message.text().includes("Allergic")) throw new Error("no code for this allergy");
    return [send("archive", message.body)];
  },
});
export const toLab = defineHandler({ name: "to-lab", outbounds: ["lab"], handle: (message) => [send("lab", message.body)] });
export const archive = defineOutbound({ name: "archive", transport: { kind: "file", folder: ${JSON.stringify(archive)} } });
export const lab = defineOutbound({
  name: "lab",
  lane: (message) => message.hl7().get("PID-3.1") ?? "",
  transport: { kind: "mllp", host: "127.0.0.1", port: ${closedPort} },
});
`,
  };
}

async function findLeader(nodes: readonly ServeProcess[], role: string): Promise<ServeProcess> {
  let found: ServeProcess | undefined;
  const look = async (): Promise<boolean> => {
    for (const node of nodes) {
      const answer = await node.read<{ readonly role?: string }>(`/role?role=${role}`).catch(() => null);
      if (answer?.role === "LEADER") found = node;
    }
    return found !== undefined;
  };
  await waitUntil(look, patienceMs);
  if (found === undefined) throw new Error(`Nobody leads ${role}:\n${nodes.map(({ output }) => output).join("\n")}`);
  return found;
}

async function createTokens(nodes: readonly ServeProcess[]): Promise<DashboardScene["tokens"]> {
  const [node] = nodes as readonly [ServeProcess, ...ServeProcess[]];
  const create = async (body: object, by?: string): Promise<string> => {
    const { secret } = await node.post<{ readonly secret?: string }>(
      "/tokens",
      body,
      by === undefined ? {} : bearer(by),
    );
    if (secret === undefined) throw new Error("A token was refused.");
    return secret;
  };
  const grants = ["messages:read", "audit:read"];
  const admin = await create({ name: "ada", role: "admin", grants });
  const operator = await create({ name: "oskar", role: "operator", grants }, admin);
  const viewer = await create({ name: "vera", role: "viewer" }, admin);
  // Every node has heard of them with its next beat.
  const knows = async (other: ServeProcess, secret: string): Promise<boolean> =>
    (await other.get("/cluster/info", bearer(secret))).status === 200;
  for (const other of nodes) {
    for (const secret of [admin, operator, viewer]) await waitUntil(() => knows(other, secret), patienceMs);
  }
  return { admin, operator, viewer };
}

async function furnish(
  { databaseUrl, tokens, leaderOf }: Omit<DashboardScene, keyof AsyncDisposable>,
  words: Words,
): Promise<void> {
  await fillLanes(databaseUrl, words.lanes);
  const engine = await leaderOf("engine");
  for (const [at, note] of words.notes.entries()) {
    const header = `MSH|^~\\&|HIS|MAIN|HUB|HOLDFAST|20260131||ADT^A01|M${at}|P|2.5`;
    const body = `${header}\rPID|1||P100${at % 4}\rNTE|1||${note}\r`;
    await accepted(engine.post("/messages", { connection: "adt", body, encoding: "text" }, bearer(tokens.operator)));
  }
  const scheduler = await leaderOf("scheduler");
  for (const op of ["report", "reconcile", "resize"]) {
    await accepted(scheduler.post("/v1/jobs", { op, payload: { of: words.notes[0] } }, bearer(tokens.operator)));
  }
}

/** An application that fills its queue and is gone before anything of it is delivered. */
async function fillLanes(databaseUrl: string, lanes: readonly string[]): Promise<void> {
  await using local = await startLocalNode(clusterNode(databaseUrl, "shop", quick));
  const queue = createQueue(local.node, { name: "orders" });
  const fill = async (): Promise<boolean> => {
    const taken = queue.enqueueMany(lanes.map((lane, at) => ({ lane, body: `order ${at}`, key: lane })));
    return await taken.then(() => true).catch(() => false);
  };
  if (!(await waitUntil(fill, patienceMs))) throw new Error("The lanes could not be filled.");
}

async function accepted(answer: Promise<object>): Promise<void> {
  const body = await answer;
  if ("error" in body) throw new Error(`Refused: ${JSON.stringify(body)}`);
}
