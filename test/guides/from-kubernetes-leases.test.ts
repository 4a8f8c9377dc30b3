import { rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Guide, patience } from "../support/guide.js";
import { createTestDatabase, rowsOf, withClient } from "../support/postgres.js";

/** Leads by Kubernetes while a file says so. */
const lease = `
import { existsSync } from "node:fs";
export const kubernetesLeads = () => {
  console.log("asked");
  return existsSync(new URL("./lease.txt", import.meta.url));
};
`;

it(
  "of two replicas only the one acts that leads by both, and a stop of the other brings the two together",
  patience,
  async () => {
    await using database = await createTestDatabase();
    await withClient(database.url, (client) => client.query("create table reports (epoch bigint)"));
    const epochs = async (): Promise<readonly number[]> => {
      const sql = "select distinct epoch::int from reports order by epoch";
      return (await rowsOf<{ epoch: number }>(database.url, sql)).map(({ epoch }) => epoch);
    };
    await using first = await Guide.open("from-kubernetes-leases", { DATABASE_URL: database.url });
    await using second = await Guide.open("from-kubernetes-leases", { DATABASE_URL: database.url });
    for (const replica of [first, second]) await replica.write("lease.mjs", lease);
    // Kubernetes says the second, Holdfast the first: nobody acts.
    await second.write("lease.txt", "");
    const leader = await first.start("both");
    await leader.line(/^asked$/);
    const standby = await second.start("both");
    await expect.poll(() => leader.lines.filter((line) => line === "asked").length).toBeGreaterThan(1);
    expect(await epochs()).toEqual([]);

    leader.signal("SIGTERM");
    await standby.line(/^asked$/);
    await expect.poll(epochs).toEqual([2]);
    await rm(join(second.project.directory, "lease.txt"));
    expect((await leader.exited).code).toBe(0);
  },
);
