import { afterAll, beforeAll, expect, it } from "vitest";
import { ConfigFiles } from "../support/config-folder.js";
import { createTestDatabase, type TestDatabase } from "../support/postgres.js";
import { patientCluster, quickCluster, ServeProcess } from "../support/serve-process.js";

const feed = (folder: string) => `
import { setTimeout as after } from "node:timers";
import { defineHandler, defineInbound, defineOutbound, defineRouter } from "holdfast/engine";
const files = (name: string) => ({ kind: "file", folder: ${JSON.stringify(folder)} + "/" + name }) as const;
const left: Record<string, () => unknown> = {
  rejection: () => Promise.reject(new Error("nobody waits")),
  timer: () => after(() => { throw new Error("too late"); }, 1),
  fetch: () => fetch("http://127.0.0.1:9/"),
};
export const filesIn = defineInbound({ name: "files-in", router: "all", format: "raw", transport: files("in") });
export const all = defineRouter({ name: "all", handlers: ["leave"], route: () => ["leave"] });
export const leave = defineHandler({
  name: "leave",
  outbounds: ["files-out"],
  handle: (message) => {
    left[message.text()]?.();
    return [];
  },
});
export const filesOut = defineOutbound({ name: "files-out", transport: files("out") });
`;

interface Taken {
  readonly id: string;
}
interface Account {
  readonly statuses: readonly string[];
  readonly dead_letters: readonly { readonly reason: string }[];
}

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(async () => await database.drop());

it("what a handler leaves behind and what then fails is told with its place, and ends no node", {
  timeout: 60_000,
}, async () => {
  await using incoming = await ConfigFiles.write({});
  await using folder = await ConfigFiles.write({ "feed.ts": feed(incoming.path) });
  const settings = { ...quickCluster, ...patientCluster, "cluster.node_id": "a", "store.url": database.url };
  await using served = await ServeProcess.start({ settings, args: ["--config", folder.path] });
  await served.said("the graph runs here");
  const send = async (body: string) => await served.post<Taken>("/messages", { connection: "files-in", body });

  await send("rejection");
  await served.said("what the config folder left behind has failed at feed.ts:6:");
  expect(served.output).toContain('"reason":"nobody waits"');
  await send("timer");
  await served.said("what the config folder left behind has failed at feed.ts:7:");

  const { id } = await send("fetch");
  const account = async () => await served.read<Account>(`/messages/${id}`);
  await expect.poll(async () => (await account()).statuses, { timeout: 15_000 }).toEqual(["error"]);
  expect((await account()).dead_letters).toMatchObject([
    { reason: expect.stringMatching(/^handler "leave" failed at feed\.ts:8:16: fetch is asynchronous, /) },
  ]);
  expect(await served.read("/role?role=engine")).toMatchObject({ role: "LEADER", leader_epoch: 1 });
});
