import { expect, it } from "vitest";
import { blocksOf, Guide, patience, readerSettings, servesAsLeader } from "../support/guide.js";
import { createTestDatabase, rowsOf } from "../support/postgres.js";

const block = blocksOf("crons");

it("a cron of the settings is listed, triggered, paused and resumed as the guide says", patience, async () => {
  await using database = await createTestDatabase();
  const env = await readerSettings(database.url);
  await using guide = await Guide.open("crons", env);
  await guide.writeShown("holdfast.toml");
  await servesAsLeader(guide.project.command(["holdfast", "serve"]));
  const crons = async () => {
    const { items } = (await (await fetch(`${env.HOLDFAST_URL}/v1/crons`)).json()) as { items: readonly object[] };
    return items;
  };
  const shown = JSON.parse(block("shown").text) as Record<string, unknown>;
  const times = { last_tick: expect.any(Number) as number, next_tick: expect.any(Number) as number };
  await expect.poll(crons).toEqual([{ ...shown, ...times }]);

  const { stdout } = await guide.run("steer");
  expect(stdout).toMatch(/^nightly +active +0 2 \* \* \* +Europe\/Berlin +report/m);
  expect(stdout).toMatch(/^Cron nightly was triggered: its job is (\S+)\.$/m);
  expect(stdout).toMatch(/^Cron nightly is paused/m);
  expect(stdout).toMatch(/^[-\d]+ [:\d]+ +triggered /m);
  expect(await crons()).toMatchObject([{ name: "nightly", paused: false }]);
  const jobs = await rowsOf(database.url, "SELECT op, payload FROM holdfast.jobs");
  expect(jobs).toEqual([{ op: "report", payload: { pages: 3 } }]);
});

it("a cron of a program is the cluster's", patience, async () => {
  await using database = await createTestDatabase();
  await using guide = await Guide.open("crons", { DATABASE_URL: database.url });
  await guide.start("define");
  const defined = async (): Promise<readonly unknown[]> =>
    await rowsOf(database.url, "SELECT name, schedule, time_zone, op, missed, source FROM holdfast.crons");
  const { name, schedule, time_zone, op, missed } = JSON.parse(block("shown").text) as Record<string, unknown>;
  await expect.poll(defined).toEqual([{ name, schedule, time_zone, op, missed, source: "code" }]);
});
