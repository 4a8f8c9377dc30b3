import { describe, test } from "vitest";
import { clusterNode, heirOf, historyOf, overlapsOf, quick, quickTtlMs } from "../support/election.js";
import { NodeProcess } from "../support/node-process.js";
import { createTestDatabase, startTestServer, withClient } from "../support/postgres.js";
import { roleOf, ServeCluster } from "../support/serve-cluster.js";

/** A machine with two busy cores adds this much to anything that waits for a process to run. */
const slackMs = 3_000;

const unhurried = { "cluster.leader_lease_ttl_seconds": 30, "cluster.leader_fence_timeout_seconds": 25 };

async function startTrio(url: string) {
  const names = ["a", "b", "c"];
  const nodes = await Promise.all(names.map((name) => NodeProcess.start({ settings: clusterNode(url, name, quick) })));
  return {
    nodes,
    /** The process that was elected last, under this epoch. */
    leader: async (epoch: bigint) => {
      const elected = await Promise.any(
        nodes.map(async (node) => {
          await node.said("elected", (report) => report.epoch === epoch);
          return node;
        }),
      );
      await elected.said("gate", ({ open }) => open === true);
      return elected;
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()));
    },
  };
}

/** What a gate that lets only the leader act has to show, each against real processes that record every act. */
describe("the acting gate is accepted", () => {
  test.concurrent("only one instance acts at any moment, whether the leader crashes, stalls or hands over", async ({
    expect,
  }) => {
    await using database = await createTestDatabase();
    await using trio = await startTrio(database.url);
    const first = await trio.leader(1n);
    await heirOf(database.url);
    first.kill("SIGSTOP");
    const second = await trio.leader(2n);
    first.kill("SIGCONT");
    await first.said("lost");
    await heirOf(database.url);
    await second.ask("stepDown");
    const third = await trio.leader(3n);
    await heirOf(database.url);
    third.kill("SIGKILL");
    const fourth = await trio.leader(4n);
    await fourth.ask("require");
    const acted = (await Promise.all(trio.nodes.map((node) => node.acts()))).flat();
    expect(new Set(acted.map(({ epoch }) => epoch))).toEqual(new Set([1n, 2n, 3n, 4n]));
    expect(await overlapsOf(...trio.nodes)).toEqual([]);
  });

  test.concurrent("a failover ends within the configured thresholds, by the database's own clock", async ({
    expect,
  }) => {
    await using database = await createTestDatabase();
    await using trio = await startTrio(database.url);
    const first = await trio.leader(1n);
    await heirOf(database.url);
    first.kill("SIGKILL");
    const second = await trio.leader(2n);
    await heirOf(database.url);
    second.kill("SIGSTOP");
    await trio.leader(3n);
    const elections = (await historyOf(database.url)).filter(({ event }) => event === "elected");
    const [, crash, stall] = elections;
    // A crash is noticed by its evidence, not by a timeout; a stall when the lease is over, and the next beat asks for it.
    expect(crash).toMatchObject({ epoch: 2n, reason: "evidence" });
    expect(crash?.gapMs).toBeLessThan(quick.heartbeatSeconds * 1000 + slackMs);
    expect(stall).toMatchObject({ epoch: 3n, reason: "expired" });
    expect(stall?.gapMs).toBeLessThan(quick.heartbeatSeconds * 1000 + slackMs);
  });

  test.concurrent("a database that restarts ends with one leader again, and no split brain", async ({ expect }) => {
    await using server = await startTestServer();
    await using trio = await startTrio(server.url);
    const first = await trio.leader(1n);
    await heirOf(server.url);
    const stoppedAt = process.hrtime.bigint();
    await server.stop("fast");
    // The gate closes in time: when the trust has run out, whatever the database does.
    const lost = await first.said("lost");
    expect(lost.reason).toBe("trust_ran_out");
    expect(Number(lost.at - stoppedAt) / 1e6).toBeLessThan(quickTtlMs + slackMs);
    await server.start();
    await trio.leader(2n);
    expect(await overlapsOf(...trio.nodes)).toEqual([]);
  });

  test.concurrent("a process that is paused by its own work shuts its gate before anybody else's opens", async ({
    expect,
  }) => {
    await using database = await createTestDatabase();
    await using trio = await startTrio(database.url);
    const first = await trio.leader(1n);
    await heirOf(database.url);
    const blocked = first.ask("block", { ms: quickTtlMs + 1_000 });
    await trio.leader(2n);
    await blocked;
    expect(await first.said("lost")).toMatchObject({ epoch: 1n });
    expect(await overlapsOf(...trio.nodes)).toEqual([]);
  });

  test.concurrent("metrics and logs show the role, the epoch and every transition", async ({ expect }) => {
    await using database = await createTestDatabase();
    // No lease has to run out here, so none does because its node had to wait for a processor.
    await using cluster = await ServeCluster.start(database.url, 2, unhurried);
    const first = await cluster.leader();
    const [second] = await cluster.standbys();
    const sample = async (url: string, name: string) => {
      const text = await (await fetch(`${url}/metrics`)).text();
      return text
        .split("\n")
        .find((line) => line.startsWith(`holdfast_${name}{role="scheduler"}`))
        ?.split(" ")[1];
    };
    expect(await sample(first.url, "leader_is_leader")).toBe("1");
    expect(await sample(first.url, "leader_epoch")).toBe("1");
    expect(await sample(second?.url ?? "", "leader_is_leader")).toBe("0");
    expect(await sample(second?.url ?? "", "leader_acquired_total")).toBe("0");
    await first.post("/cluster/leaders/scheduler/step-down");
    await cluster.leader();
    await expect.poll(() => sample(first.url, "leader_is_leader")).toBe("0");
    expect(await sample(second?.url ?? "", "leader_acquired_total")).toBe("1");
    expect(await sample(second?.url ?? "", "leader_epoch")).toBe("2");
    const lines = (output: string) =>
      output
        .split("\n")
        .filter((line) => line.startsWith("{"))
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    const { node_id } = await roleOf(first);
    expect(lines(first.output)).toContainEqual(
      expect.objectContaining({ role: "scheduler", epoch: 1, node_id, reason: "first", msg: "elected" }),
    );
    expect(lines(first.output)).toContainEqual(
      expect.objectContaining({ role: "scheduler", epoch: 1, node_id, reason: "stepped_down" }),
    );
  });

  test.concurrent("every way to act is gated: the gate, the term, the fence and the API all refuse a standby", async ({
    expect,
  }) => {
    await using database = await createTestDatabase();
    await using trio = await startTrio(database.url);
    const leader = await trio.leader(1n);
    await withClient(database.url, (client) => client.query("CREATE TABLE sent (by_node text)"));
    for (const node of trio.nodes.filter((one) => one !== leader)) {
      for (const command of ["requireLeader", "ensureEpoch", "stepDown"]) {
        await expect(node.ask(command, { epoch: "1" }), command).rejects.toMatchObject({ code: "NOT_LEADER" });
      }
    }
    // And the leader of before, which still has its term in hand.
    await leader.ask("query", { sql: "INSERT INTO sent VALUES ('leader')" });
    await heirOf(database.url);
    await leader.ask("stepDown");
    await trio.leader(2n);
    for (const command of ["require", "requireLeader", "ensureEpoch", "verify", "query"]) {
      const order = { epoch: "1", sql: "INSERT INTO sent VALUES ('deposed')" };
      await expect(leader.ask(command, order), command).rejects.toMatchObject({
        code: expect.stringMatching(/^(NOT_LEADER|STALE_EPOCH)$/),
      });
    }
    const { rows } = await withClient(database.url, (client) => client.query("SELECT by_node FROM sent"));
    expect(rows).toEqual([{ by_node: "leader" }]);
    await using cluster = await ServeCluster.start(database.url, 2, {
      "store.schema": "other",
      "cluster.name": "other",
    });
    const [standby] = await cluster.standbys();
    const answer = await fetch(`${standby?.url}/v1/jobs`, { method: "POST" });
    expect(answer.status).toBe(409);
  });
});
