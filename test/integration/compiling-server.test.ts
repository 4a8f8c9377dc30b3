import { expect, test } from "vitest";
import { createJobs } from "../../src/jobs/create-jobs.js";
import { clusterNode } from "../support/election.js";
import { startLocalNode } from "../support/local-node.js";
import { createTestDatabase, withClient } from "../support/postgres.js";

// A server from a distribution's package compiled each of these statements anew, for a second of a core, and every submission of a job timed out.
test("a server that compiles what it thinks expensive leaves Holdfast's own transactions alone, and a user's are as the server would have them", async () => {
  await using database = await createTestDatabase();
  await withClient(database.url, async (client) => {
    await client.query(`ALTER DATABASE ${database.name} SET jit = on`);
    await client.query("CREATE TABLE seen (jit text)");
    await client.query(`CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN INSERT INTO public.seen VALUES (current_setting('jit')); RETURN NULL; END $$`);
    await client.query(
      "CREATE TRIGGER see AFTER INSERT ON holdfast.jobs FOR EACH STATEMENT EXECUTE FUNCTION public.see()",
    );
  });
  await using leader = await startLocalNode(clusterNode(database.url, "leader"));
  const jobs = createJobs(leader.node);
  const term = await leader.leads();
  await expect.poll(() => jobs.isOpen).toBe(true);
  await jobs.submit([{ op: "resize" }]);
  const seen = await withClient(database.url, (client) => client.query<{ jit: string }>("SELECT jit FROM seen"));
  expect(new Set(seen.rows.map(({ jit }) => jit))).toEqual(new Set(["off"]));
  const users = await term.transaction(async (tx) => (await tx.query<{ jit: string }>("SHOW jit")).rows[0]?.jit);
  expect(users).toBe("on");
});
