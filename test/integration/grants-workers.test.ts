import { expect, test } from "vitest";
import { Player, postgresHarness } from "../contract/harness.js";
import { createLogin, migratedBy } from "../support/login-role.js";

test("nodes that own nothing ask and answer as workers: send, see, answer, collect, withdraw, and forget the dead", async () => {
  await using migrator = await createLogin("migrator");
  await using role = await createLogin("node");
  await using reader = await createLogin("reader");
  await using database = await migratedBy(migrator, role, reader);
  await using harness = await postgresHarness({ database, url: role.at(database.url) });
  await using player = await Player.join(harness, "first");
  const { workers } = player.store;
  await workers.send("1", { n: 1 });
  await workers.send("2", { n: 2 });
  expect((await workers.pending([], 60_000)).map(({ id }) => id)).toEqual(["1", "2"]);
  await workers.answer([{ id: "1", answer: { n: 1 } }]);
  expect(await workers.collect()).toEqual({ answers: [{ id: "1", answer: { n: 1 } }], waiting: ["2"] });
  expect(await workers.withdraw("2")).toBeNull();
  expect(await workers.forsaken(60_000)).toEqual([]);
});
