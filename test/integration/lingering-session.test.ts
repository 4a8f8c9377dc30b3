import { Client } from "pg";
import { expect, test } from "vitest";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { quick } from "../support/election.js";
import { NodeProcess } from "../support/node-process.js";
import { createTestDatabase, withClient } from "../support/postgres.js";

/** A node outside a cluster. Its beat counts as fresh for the whole test, so that nobody takes it for long gone. */
const single = (url: string, nodeId: string) => ({
  store: { url },
  cluster: { nodeId, ...quick, nodeTimeoutSeconds: 60 },
});

interface Lingering extends AsyncDisposable {
  /** Resolves when the node's own session has ended, and this one stands in its place. */
  readonly begun: Promise<unknown>;
  end(): Promise<void>;
}

/** Stands in line for the key that a node outside a cluster holds: to others, its session then outlives its process. */
async function lingerAfter(url: string): Promise<Lingering> {
  const session = new Client({ connectionString: url });
  await session.connect();
  const begun = session.query("SELECT pg_advisory_lock(member_key) FROM holdfast.meta");
  const { processID } = session as unknown as { readonly processID: number };
  const waits = await withClient(url, (client) =>
    waitUntil(async () => {
      const { rows } = await client.query("SELECT FROM pg_locks WHERE pid = $1 AND NOT granted", [processID]);
      return rows.length === 1;
    }, 5_000),
  );
  expect(waits).toBe(true);
  let ended: Promise<void> | null = null;
  const end = (): Promise<void> => {
    ended ??= session.end();
    return ended;
  };
  return { begun, end, [Symbol.asyncDispose]: end };
}

const predecessors: readonly { who: string; nodeId: string; reason: string }[] = [
  { who: "the same id", nodeId: "alone", reason: "still held by a session that is about to end" },
  { who: "another id", nodeId: "before", reason: 'in use by node "before"' },
];
for (const { who, nodeId, reason } of predecessors) {
  test.concurrent(`a node outside a cluster, whose killed predecessor of ${who} lingers at the server, starts once that session has ended`, async () => {
    await using database = await createTestDatabase();
    await using killed = await NodeProcess.start({ settings: single(database.url, nodeId) });
    const { epoch = 0n } = await killed.said("elected");
    await using lingering = await lingerAfter(database.url);
    killed.kill("SIGKILL");
    await lingering.begun;
    await using successor = await NodeProcess.spawn({ settings: single(database.url, "alone") });
    const { line } = await successor.logged("the lock session is down");
    expect(line?.reason).toContain(reason);
    expect(successor.reports.filter(({ kind }) => kind === "started" || kind === "failed")).toEqual([]);
    await lingering.end();
    await successor.said("started");
    expect(await successor.said("elected")).toMatchObject({ epoch: epoch + 1n });
  });
}

test.concurrent("a node outside a cluster that has lost its session, and finds it lingering, leads again once it has ended", async () => {
  await using database = await createTestDatabase();
  await using alone = await NodeProcess.start({ settings: single(database.url, "alone") });
  await alone.said("elected");
  await alone.said("gate", ({ open }) => open === true);
  await using lingering = await lingerAfter(database.url);
  await withClient(database.url, (client) =>
    client.query("SELECT pg_terminate_backend(split_part(lock_session, '@', 1)::integer) FROM holdfast.nodes"),
  );
  await lingering.begun;
  const shut = await alone.said("gate", ({ open }) => open === false);
  await alone.said("log", ({ line }) => line?.reason?.includes("about to end") === true);
  await lingering.end();
  await alone.said("gate", ({ open, at }) => open === true && at > shut.at);
  expect(await alone.ask("gate")).toEqual({ open: true });
});
