import { expect, it } from "vitest";
import { blocksOf, Guide, patience } from "../support/guide.js";
import { createTestDatabase, rowsOf, withClient } from "../support/postgres.js";

const block = blocksOf("from-job-queues");

const reports = `
export const makeReport = async (by, payload, jobId) => console.log("report,", by, JSON.stringify(payload), jobId ?? "");
`;
/** Makes the tables of graphile-worker. */
const install = `
import { runMigrations } from "graphile-worker";
await runMigrations({ connectionString: process.env.DATABASE_URL });
`;
/** Triggers it as the guide says, once this node leads. */
const trigger = `
await jobs.opened();
console.log("triggered", (await node.crons.trigger("report")).jobId);
`;

it("the old cron and the new one run beside each other, on one database", patience, async () => {
  await using database = await createTestDatabase();
  await using guide = await Guide.open(
    "from-job-queues",
    { DATABASE_URL: database.url },
    { also: ["graphile-worker"] },
  );
  await guide.write("reports.mjs", reports);
  expect((await guide.project.run({ name: "install", language: "js", text: install, line: 1 })).code).toBe(0);
  // It has known its crontab for a week, so that it makes up for the last night at once.
  await withClient(database.url, (client) =>
    client.query(
      `insert into graphile_worker._private_known_crontabs (identifier, known_since)
       values ('report', now() - interval '7 days')`,
    ),
  );

  const old = await guide.start("old");
  const text = block("new").text + trigger;
  const fresh = await guide.project.start({ name: "new", language: "js", text, line: 1 });
  await old.line(/^report, old .*"backfilled":true/);
  const [, jobId] = await fresh.line(/^triggered (\S+)$/);
  await fresh.line(new RegExp(`^report, dry run null ${jobId}$`));

  const crons = await rowsOf(database.url, "select name, schedule, missed, max_catch_up from holdfast.crons");
  expect(crons).toEqual([{ name: "report", schedule: "0 2 * * *", missed: "catch_up", max_catch_up: 1 }]);
  expect(old.lines.filter((line) => line.startsWith("report, "))).toHaveLength(1);
  expect(fresh.lines.filter((line) => line.startsWith("report, "))).toHaveLength(1);
});
