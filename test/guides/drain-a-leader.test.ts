import { expect, it } from "vitest";
import { Guide, patience } from "../support/guide.js";
import { createTestDatabase } from "../support/postgres.js";
import { roleOf, ServeCluster } from "../support/serve-cluster.js";
import { patientCluster } from "../support/serve-process.js";

it(
  "a leader is drained by hand as the guide says, from another node, and what is seen is what it says",
  patience,
  async () => {
    await using database = await createTestDatabase();
    await using cluster = await ServeCluster.start(database.url, 3, patientCluster);
    const [asked, drained] = [cluster.node("node-1"), cluster.node("node-2")];
    await using guide = await Guide.open("drain-a-leader", { HOLDFAST_URL: asked.url });

    expect((await guide.run("look")).stdout).toMatch(/^scheduler +node-1 +1 /m);
    expect((await guide.run("step-down")).stdout).toMatch(/node-2 leads it, epoch 2\.$/m);
    await cluster.agree("node-2");

    let seen = (await guide.run("drain")).stdout;
    expect(seen).toMatch(/^node-2 is drained/m);
    expect(seen).toMatch(/^node-2 +draining/m);
    const drainedAgain = async (): Promise<string> => (seen = (await guide.run("drain")).stdout);
    await expect.poll(drainedAgain, { timeout: 60_000 }).toMatch(/ 3 +elected +released +node-[13] .* m?s$/m);
    expect(seen).toMatch(/^node-2 is drained/m);
    expect(seen).toMatch(/^node-[13] +active +yes/m);
    expect(seen).toMatch(/ 2 +released +draining +node-2 /m);

    const others = [cluster.node("node-1"), cluster.node("node-3")];
    const next = await cluster.leader(others);
    const nextId = next === asked ? "node-1" : "node-3";
    const leads = { leader_id: nextId, leader_epoch: 3 };
    await expect.poll(() => roleOf(drained)).toMatchObject({ role: "DRAINING", ...leads });
    const ready = await drained.get("/ready");
    expect([ready.status, await ready.json()]).toEqual([503, expect.objectContaining({ draining: true })]);
    expect(await drained.post("/v1/jobs", { op: "hello" })).toMatchObject({
      error: "NOT_LEADER",
      leader_url: next.url,
    });
    const toDrained = await asked.post("/cluster/leaders/scheduler/step-down", { to: "node-2" });
    expect(toDrained).toMatchObject({ error: "REFUSED", message: expect.stringContaining("node-2") as string });

    expect((await guide.run("resume")).stdout).toBe("node-2 is active again.");
    // Nothing was taken from whoever leads.
    expect(await roleOf(next)).toMatchObject({ role: "LEADER", leader_epoch: 3 });

    const answers = (await guide.run("http")).stdout.split("\n").map((line) => JSON.parse(line) as object);
    expect(answers).toEqual([
      expect.objectContaining({ kind: "step_down", role: "scheduler", acted_at: expect.any(Number) as number }),
      expect.objectContaining({ kind: "drain", node_id: "node-2", acted_at: expect.any(Number) as number }),
      expect.objectContaining({ kind: "resume", node_id: "node-2", acted_at: expect.any(Number) as number }),
    ]);
    // Drained before it led, or when it did, and resumed at once: it may be the one that leads next.
    const last = await roleOf(await cluster.leader());
    expect([4, 5]).toContain(last.leader_epoch);
  },
);
