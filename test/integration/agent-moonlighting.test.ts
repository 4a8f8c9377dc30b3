import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { createTestDatabase, makeTestDirectory } from "../support/postgres.js";
import { quickCluster, ServeProcess } from "../support/serve-process.js";

const patienceMs = 60_000;

interface SeenJob {
  readonly state: string;
  readonly agent: string | null;
  readonly result: unknown;
}

it("a standby's own agent does the jobs that its leader hands out, and gives them back when it is turned off", {
  timeout: 120_000,
}, async () => {
  await using database = await createTestDatabase();
  const ops = await makeTestDirectory();
  await writeFile(join(ops, "double.mjs"), "export default ({ n }) => 2 * n;");
  await writeFile(join(ops, "long.mjs"), "export default () => new Promise((done) => setTimeout(done, 600_000));");
  const start = async (nodeId: string) =>
    await ServeProcess.start({
      command: "supervise",
      settings: {
        ...quickCluster,
        "store.url": database.url,
        "cluster.node_id": nodeId,
        "supervisor.moonlight": true,
        "jobs.drain_grace_seconds": 1,
      },
      args: ["--ops", ops],
    });
  await using leader = await start("east");
  const leads = async () => (await leader.read<{ readonly role: string }>("/role")).role === "LEADER";
  expect(await waitUntil(leads, patienceMs)).toBe(true);
  await using standby = await start("west");

  const submit = async (op: string): Promise<string> => {
    const { job_id: id } = await leader.post<{ readonly job_id: string }>("/v1/jobs", { op, payload: { n: 21 } });
    return id;
  };
  const seen = async (id: string): Promise<SeenJob> => await standby.read<SeenJob>(`/v1/jobs/${id}`);

  const short = await submit("double");
  expect(await waitUntil(async () => (await seen(short)).state === "succeeded", patienceMs)).toBe(true);
  expect(await seen(short)).toMatchObject({ agent: "west-worker", result: 42 });

  const long = await submit("long");
  expect(await waitUntil(async () => (await seen(long)).state === "leased", patienceMs)).toBe(true);
  standby.kill("SIGTERM");
  expect(await standby.exited).toEqual({ code: 0, signal: null });
  const left = await leader.read<SeenJob & { readonly attempts: number }>(`/v1/jobs/${long}`);
  expect(left).toMatchObject({ state: "queued", attempts: 0 });
});
