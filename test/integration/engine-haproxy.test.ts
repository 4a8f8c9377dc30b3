import { expect, test } from "vitest";
import { EngineCluster } from "../support/engine-cluster.js";
import { wards } from "../support/engine-feed.js";
import { accountOf, flawsOf, latenessOf, longestLatenessMs, times, torture } from "../support/engine-torture.js";
import { type HaProxy, noticedWithinMs, startHaProxy } from "../support/haproxy.js";
import { createTestDatabase } from "../support/postgres.js";
import { isMissing } from "../support/programs.js";

/** One for each inbound, by its name. */
async function startBalancers(cluster: EngineCluster) {
  const balancers = new Map<string, HaProxy>();
  for (const ward of wards) balancers.set(ward, await startHaProxy(cluster.waysTo(ward)));
  const dispose = async (): Promise<void> => {
    await Promise.all([...balancers.values()].map((balancer) => balancer[Symbol.asyncDispose]()));
  };
  return { balancers, [Symbol.asyncDispose]: dispose };
}

// Left out only where HOLDFAST_TEST_PARTIAL asks for it; else a missing HAProxy fails, with the command that installs it.
test.skipIf(isMissing("haproxy"))(
  "HAProxy with the guide's configuration follows the primary by itself, and nothing is lost, inverted or doubled on the way",
  async ({ annotate }) => {
    await using database = await createTestDatabase();
    await using cluster = await EngineCluster.start(database.url);
    await using balanced = await startBalancers(cluster);
    const { balancers } = balanced;
    const plan = {
      short: [[], times(1, "kill")],
      long: [times(5, "kill"), [...times(5, "kill"), ...times(2, "freeze")]],
    } as const;
    const ran = await torture(cluster, plan, (ward) => {
      const address = balancers.get(ward)?.address;
      return address === undefined ? [] : [{ ...address, place: 0 }];
    });
    await annotate(accountOf(ran));
    expect(flawsOf(ran)).toEqual([]);
    expect(latenessOf(ran), accountOf(ran)).toBeLessThan(longestLatenessMs + noticedWithinMs);
    // Each takeover was followed: somebody's connection was broken and made again each time.
    expect(ran.load.connects).toBeGreaterThan(ran.load.senders);
  },
  600_000,
);
