import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { createTestDatabase, makeTestDirectory } from "../support/postgres.js";
import { ServeCluster } from "../support/serve-cluster.js";
import type { ServeProcess } from "../support/serve-process.js";

const patienceMs = 60_000;

const modules = {
  "greet.mjs": "export default ({ name }) => ({ greeting: 'hello ' + name });",
  "null.mjs": "export default () => null;",
  "fail.mjs": "export default () => { throw new Error('no such customer'); };",
  "late.mjs":
    "export default (_, { signal }) => new Promise((_done, fail) => signal.addEventListener('abort', () => fail(signal.reason)));",
};

/** `until` ends when a file of that name is beside it. */
const untilModule = `
  import { existsSync } from "node:fs";
  import { setTimeout as pause } from "node:timers/promises";
  export default async (_, { signal }) => {
    while (!existsSync(new URL("go.txt", import.meta.url))) await pause(20, undefined, { signal });
    return "at last";
  };`;

async function functionsFolder(): Promise<string> {
  const folder = await makeTestDirectory();
  await writeFile(join(folder, "until.mjs"), untilModule);
  for (const [name, text] of Object.entries(modules)) await writeFile(join(folder, name), text);
  return folder;
}

interface Called {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

async function call(
  node: ServeProcess,
  path: string,
  { payload, key, signal }: { readonly payload?: unknown; readonly key?: string; readonly signal?: AbortSignal } = {},
): Promise<Called> {
  const response = await fetch(`${node.url}/v1/functions/${path}`, {
    method: "POST",
    ...(payload === undefined ? {} : { body: typeof payload === "string" ? payload : JSON.stringify(payload) }),
    headers: {
      ...(payload === undefined ? {} : { "content-type": "application/json" }),
      ...(key === undefined ? {} : { "idempotency-key": key }),
    },
    signal: signal ?? AbortSignal.timeout(patienceMs),
  });
  return { status: response.status, body: (await response.json()) as Called["body"] };
}

interface SeenJob {
  readonly state: string;
  readonly op: string;
  readonly agent: string;
  readonly priority: number;
}

const second = "node:node-2/functions";

/** The leader runs its own only where nobody else can, as before the second node waits for work. */
async function greetedBySecond(leader: ServeProcess): Promise<{ readonly greeted: Called; readonly job: SeenJob }> {
  for (const until = performance.now() + patienceMs; performance.now() < until; ) {
    const greeted = await call(leader, "greet", { payload: { name: "ann" } });
    if (greeted.status !== 200) continue;
    const job = await leader.read<SeenJob>(`/v1/jobs/${String(greeted.body.job_id)}`);
    if (job.agent === second) return { greeted, job };
  }
  throw new Error("The leader ran every one by itself.");
}

describe("functions", () => {
  it("are run by a node that has them, and each failure has its own answer", { timeout: 180_000 }, async () => {
    await using database = await createTestDatabase();
    const folder = await functionsFolder();
    await using cluster = await ServeCluster.start(database.url, 2, {}, ["--functions", folder]);
    const leader = cluster.node("node-1");
    const { greeted, job } = await greetedBySecond(leader);
    expect(greeted).toMatchObject({ status: 200, body: { result: { greeting: "hello ann" } } });
    expect(job).toMatchObject({ state: "succeeded", op: "function:greet", priority: 3, max_attempts: 1 });

    expect(await call(leader, "fail", { payload: {} })).toMatchObject({
      status: 502,
      body: { error: "FUNCTION_FAILED", message: 'Function "fail" failed: no such customer' },
    });
    expect(await call(leader, "nowhere", { payload: {} })).toMatchObject({
      status: 404,
      body: { error: "UNKNOWN_FUNCTION", message: 'No living node has the function "nowhere".' },
    });
    expect(await call(leader, "late?timeout_ms=300", { payload: {} })).toMatchObject({
      status: 504,
      body: { error: "FUNCTION_TIMED_OUT", message: 'Function "late" did not answer within 300 ms.' },
    });
    expect(await call(cluster.node("node-2"), "greet", { payload: { name: "ann" } })).toMatchObject({
      status: 409,
      body: { error: "NOT_LEADER", leader_id: "node-1" },
    });
    expect(await call(leader, "greet", { payload: "{ no json" })).toMatchObject({
      status: 400,
      body: { error: "BAD_REQUEST" },
    });
    expect(await call(leader, "greet?timeout_ms=120001", { payload: {} })).toMatchObject({
      status: 422,
      body: { error: "INVALID_REQUEST" },
    });
    expect(await call(leader, "greet", { payload: { name: "x".repeat(300_000) } })).toMatchObject({
      status: 413,
      body: { error: "BODY_TOO_LARGE" },
    });

    const first = await call(leader, "greet", { payload: { name: "bob" }, key: "k-1" });
    expect(await call(leader, "greet", { payload: { name: "bob" }, key: "k-1" })).toEqual(first);
    expect(await call(leader, "greet", { payload: { name: "eve" }, key: "k-1" })).toMatchObject({
      status: 409,
      body: { error: "REFUSED" },
    });
  });

  it("that nobody waits for any more are cancelled, and go on elsewhere when their node is killed", {
    timeout: 180_000,
  }, async () => {
    await using database = await createTestDatabase();
    const folder = await functionsFolder();
    await using cluster = await ServeCluster.start(database.url, 2, {}, ["--functions", folder]);
    const leader = cluster.node("node-1");
    const late = async (): Promise<readonly SeenJob[]> =>
      (await leader.read<{ readonly items: readonly SeenJob[] }>("/v1/jobs?op=function:late")).items;
    await greetedBySecond(leader);

    const hangUp = new AbortController();
    const abandoned = call(leader, "late?timeout_ms=60000", { payload: {}, signal: hangUp.signal });
    abandoned.catch(() => undefined);
    expect(await waitUntil(async () => (await late())[0]?.state === "leased", patienceMs)).toBe(true);
    hangUp.abort();
    await expect(abandoned).rejects.toThrow("aborted");
    expect(await waitUntil(async () => (await late())[0]?.state === "cancelled", patienceMs)).toBe(true);

    const on = async (): Promise<string | null> => {
      const { items } = await leader.read<{ readonly items: readonly SeenJob[] }>("/v1/jobs?op=function:until");
      return items[0]?.state === "leased" ? items[0].agent : null;
    };
    await greetedBySecond(leader);
    const waiting = call(leader, "until?timeout_ms=60000", { payload: {} });
    waiting.catch(() => undefined);
    expect(await waitUntil(async () => (await on()) === second, patienceMs)).toBe(true);
    cluster.node("node-2").kill("SIGKILL");
    // Nobody else is left: the leader runs it itself.
    expect(await waitUntil(async () => (await on()) === "node:node-1/functions", patienceMs)).toBe(true);
    await writeFile(join(folder, "go.txt"), "");
    expect(await waiting).toMatchObject({ status: 200, body: { result: "at last" } });
  });
});
