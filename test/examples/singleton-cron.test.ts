import { expect, it } from "vitest";
import { createTestDatabase, withClient } from "../support/postgres.js";
import { eventually, heirWaits, nextLeader, startExample } from "./example-process.js";

interface Tick {
  readonly second: string;
  readonly epoch: number;
  readonly node_id: string;
}

it("three replicas of the cron: one ticks, and two kills later no second has two ticks and no epoch goes back", async () => {
  await using database = await createTestDatabase();
  await using first = startExample("singleton-cron", database.url);
  await using second = startExample("singleton-cron", database.url);
  await using third = startExample("singleton-cron", database.url);
  let standing = [first, second, third];

  const epochs: number[] = [];
  for (let killed = 0; killed < 3; killed += 1) {
    const { replica, epoch } = await nextLeader(standing, epochs.at(-1));
    epochs.push(epoch);
    await replica.line(new RegExp(`^tick .* under epoch ${epoch}$`));
    if (standing.length > 1) await heirWaits(database.url);
    await replica.end("SIGKILL");
    standing = standing.filter((other) => other !== replica);
  }

  const ticks = await withClient(database.url, async (client) => {
    const { rows } = await client.query<Tick>(
      "select tick::text as second, epoch::integer, node_id from cron_ticks order by tick",
    );
    return rows;
  });
  expect(new Set(ticks.map((tick) => tick.second)).size).toBe(ticks.length);
  expect(ticks.map((tick) => tick.epoch)).toEqual(ticks.map((tick) => tick.epoch).toSorted((a, b) => a - b));
  expect(new Set(ticks.map((tick) => tick.epoch))).toEqual(new Set(epochs));
  // Under each epoch one replica ticked, and each of the three had its turn.
  expect(new Set(ticks.map((tick) => `${tick.epoch} ${tick.node_id}`)).size).toBe(3);
});

it("a cron that is asked to stop hands over without waiting for the lease", async () => {
  await using database = await createTestDatabase();
  await using first = startExample("singleton-cron", database.url);
  const { epoch } = await nextLeader([first]);
  await using second = startExample("singleton-cron", database.url);
  await second.line(/^standing by/);
  await first.end("SIGTERM");
  const { epoch: next } = await nextLeader([second], epoch);
  const reason = await withClient(database.url, (client) =>
    eventually(
      async () => {
        const { rows } = await client.query<{ reason: string }>(
          "select reason from holdfast.history where event = 'elected' and epoch = $1",
          [next],
        );
        return rows[0]?.reason;
      },
      () => `no election of epoch ${next} in the history`,
    ),
  );
  expect(reason).toBe("released");
});
