import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { repositoryRoot } from "../support/demo-process.js";
import { blocksOf, patience } from "../support/guide.js";
import { startHaProxy } from "../support/haproxy.js";
import { startKeepalived } from "../support/keepalived.js";
import { createTestDatabase } from "../support/postgres.js";
import { isMissing, isRoot } from "../support/programs.js";
import { ServeCluster } from "../support/serve-cluster.js";
import { patientCluster, type ServeProcess } from "../support/serve-process.js";

const block = blocksOf("load-balancer");

/** Where the database does not see the crash, another leads when the lease has run out. */
const untilAnotherLeads = { timeout: 60_000 };
const pathOf = (name: string): string => join(repositoryRoot, "examples/deploy", name);

it.each(["haproxy-leader.cfg", "holdfast-leads.sh", "keepalived.conf"])("%s is what the guide shows", (name) => {
  expect(block(name).text).toBe(readFileSync(pathOf(name), "utf8"));
});

const addressOf = ({ url }: ServeProcess) => ({ host: "127.0.0.1", port: Number(new URL(url).port) });

describe("nodes behind one address", () => {
  /** What keepalived would see on the machine of this node. */
  const leads = async (node: ServeProcess): Promise<boolean> =>
    await promisify(execFile)(pathOf("holdfast-leads.sh"), { env: { ...process.env, HOLDFAST_URL: node.url } }).then(
      () => true,
      () => false,
    );

  it.skipIf(isMissing("haproxy") || isMissing("curl"))(
    "HAProxy finds the leader for what only that takes, again after a crash, and any node for the rest",
    patience,
    async () => {
      await using database = await createTestDatabase();
      await using cluster = await ServeCluster.start(database.url, 2, patientCluster);
      const [first, second] = [cluster.node("node-1"), cluster.node("node-2")];
      await using balancer = await startHaProxy([addressOf(first), addressOf(second)], pathOf("haproxy-leader.cfg"));
      const address = `http://127.0.0.1:${balancer.address.port}`;
      const submit = async (): Promise<string | null> => {
        const headers = { "content-type": "application/json" };
        const init = {
          method: "POST",
          headers,
          body: JSON.stringify({ op: "hello" }),
          signal: AbortSignal.timeout(5_000),
        };
        const response = await fetch(`${address}/v1/jobs`, init).catch(() => null);
        return response?.status === 201 ? response.headers.get("x-holdfast-node") : null;
      };
      const nodesAsked = async (): Promise<ReadonlySet<string | null>> => {
        const answers = await Promise.all([1, 2, 3, 4].map(async () => await fetch(`${address}/cluster/status`)));
        return new Set(answers.map(({ headers }) => headers.get("x-holdfast-node")));
      };

      const leaders = async (): Promise<readonly boolean[]> => [await leads(first), await leads(second)];

      await expect.poll(submit, untilAnotherLeads).toBe("node-1");
      await expect.poll(nodesAsked, untilAnotherLeads).toEqual(new Set(["node-1", "node-2"]));
      await expect.poll(leaders, untilAnotherLeads).toEqual([true, false]);

      first.kill("SIGKILL");
      await expect.poll(submit, untilAnotherLeads).toBe("node-2");
      await expect.poll(nodesAsked, untilAnotherLeads).toEqual(new Set(["node-2"]));
      await expect.poll(leaders, untilAnotherLeads).toEqual([false, true]);
    },
  );
});

it.skipIf(isMissing("keepalived") || isMissing("ip") || !isRoot)(
  "the floating address is where the leader is, moves when another leads, and is nowhere while nobody does",
  patience,
  async () => {
    await using address = await startKeepalived();
    await address.lead(1);
    expect(await address.isAt(1)).toBe(true);
    await address.lead(2);
    expect(await address.isAt(2)).toBe(true);
    await address.lead(null);
    await expect.poll(() => address.holders(), { timeout: 60_000 }).toEqual([]);
  },
);
