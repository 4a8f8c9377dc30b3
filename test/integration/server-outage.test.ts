import { expect, test } from "vitest";
import {
  clusterNode,
  crashReason,
  expectNoOverlap,
  heirOf,
  historyOf,
  leaseOf,
  quick,
  quickTtlMs,
} from "../support/election.js";
import { NodeProcess } from "../support/node-process.js";
import { killOneSession, startTestServer, type TestServer } from "../support/postgres.js";

/** Trust that outlives a restart on a busy machine. */
const patient = {
  heartbeatSeconds: 0.5,
  leaderFenceTimeoutSeconds: 12,
  leaderLeaseTtlSeconds: 15,
  nodeTimeoutSeconds: 10,
} as const;

async function startPair(server: TestServer, cluster: typeof patient | typeof quick) {
  const first = await NodeProcess.start({ settings: clusterNode(server.url, "first", cluster) });
  const { epoch = 0n } = await first.said("elected");
  const second = await NodeProcess.start({ settings: clusterNode(server.url, "second", cluster) });
  expect(await heirOf(server.url)).toBe("second");
  await first.said("gate", ({ open }) => open === true);
  return { first, second, epoch };
}

const outages: readonly { what: string; outage: (server: TestServer) => Promise<void> }[] = [
  { what: "a restart of the server", outage: (server) => server.restart("fast") },
  {
    what: "the server's recovery after the crash of one of its sessions",
    outage: (server) => killOneSession(server.url),
  },
];
for (const { what, outage } of outages) {
  test.concurrent(`${what} that is shorter than the trust changes no epoch, and shuts the gate while it lasts`, async () => {
    await using server = await startTestServer();
    const pair = await startPair(server, patient);
    await using first = pair.first;
    await using second = pair.second;
    await outage(server);
    const shut = await first.said("gate", ({ open }) => open === false);
    await first.said("gate", ({ open, at }) => open === true && at > shut.at);
    expect(await leaseOf(server.url)).toMatchObject({ holder: "first", epoch: pair.epoch });
    expect(await heirOf(server.url, "scheduler", { fresh: true })).toBe("second");
    expect(first.reports.filter(({ kind }) => kind === "lost")).toEqual([]);
    expect(second.reports.filter(({ kind }) => kind === "elected")).toEqual([]);

    // The sessions are new, and the evidence of a crash is good again.
    first.kill("SIGKILL");
    expect(await second.said("elected")).toMatchObject({ epoch: pair.epoch + 1n, reason: crashReason() });
    await expectNoOverlap(first, second);
  });
}

test.concurrent("a server that is away for longer than the lease comes back to exactly one leader, with a higher epoch", async () => {
  await using server = await startTestServer();
  const pair = await startPair(server, quick);
  await using first = pair.first;
  await using second = pair.second;
  const stoppedAt = process.hrtime.bigint();
  await server.stop("fast");
  expect(await first.said("lost")).toMatchObject({ epoch: pair.epoch, reason: "trust_ran_out" });
  // Another way to wait for a moment: this node blocks its own loop, and answers when the lease must be over.
  const restMs = quickTtlMs - Number(process.hrtime.bigint() - stoppedAt) / 1e6;
  if (restMs > 0) await first.ask("block", { ms: restMs });
  await server.start();
  const next = pair.epoch + 1n;
  const elected = await Promise.race(
    [first, second].map((node) => node.said("elected", ({ epoch }) => epoch === next)),
  );
  expect(elected.reason).toBe("expired");
  await Promise.all(
    [first, second].map((node) =>
      node.said("changed", ({ epoch, leaderId }) => epoch === next && leaderId === elected.leaderId),
    ),
  );
  expect((await historyOf(server.url)).filter(({ event }) => event === "elected").map(({ epoch }) => epoch)).toEqual([
    pair.epoch,
    next,
  ]);
  await expectNoOverlap(first, second);
});

test.concurrent("an epoch survives a crash of the whole server right after its election", async () => {
  await using server = await startTestServer();
  await using first = await NodeProcess.start({ settings: clusterNode(server.url, "first", quick) });
  const { epoch = 0n } = await first.said("elected");
  await server.crash();
  await first.said("lost");
  await server.start();
  const again = await first.said("elected", (report) => report.epoch !== epoch);
  expect(again.epoch).toBe(epoch + 1n);
  await expectNoOverlap(first);
});
