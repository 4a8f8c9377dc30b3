import { expect, it } from "vitest";
import { runHere } from "../support/command.js";
import { Guide, patience, readerSettings, servesAsLeader } from "../support/guide.js";
import { createTestDatabase } from "../support/postgres.js";
import { isMissing } from "../support/programs.js";

it("a node works on jobs from a folder", patience, async () => {
  await using database = await createTestDatabase();
  await using guide = await Guide.open("workers", await readerSettings(database.url));
  await guide.write("ops/resize.js", 'export default async () => "resized";\n');
  await servesAsLeader(await guide.start("serve"));
  expect((await guide.run("submit")).stdout).toContain("resized");
});

it.skipIf(isMissing("curl"))("a node answers calls of its functions", patience, async () => {
  await using database = await createTestDatabase();
  await using guide = await Guide.open("workers", await readerSettings(database.url));
  await (await guide.start("functions")).line(/listening at/);
  const called = async (): Promise<unknown> => JSON.parse((await guide.attempt("call")).stdout);
  await expect.poll(called, { interval: 100 }).toMatchObject({ result: { greeting: "hello ann" } });
});

it("a process of one's own works on jobs that another node took in", patience, async () => {
  await using database = await createTestDatabase();
  const env = await readerSettings(database.url);
  await using guide = await Guide.open("workers", { ...env, HOLDFAST_CLUSTER_ENABLED: "true" });
  await guide.write("images.mjs", 'export const resize = async (image) => "resized " + image;\n');
  // Leads, serves, and has no operation itself.
  await servesAsLeader(guide.project.command(["holdfast", "serve"]));
  await guide.start("library");
  const submit = ["jobs", "submit", "resize", "--payload", '{"image":7}', "--wait", "--url", env.HOLDFAST_URL];
  const done = await runHere(submit);
  expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining("resized 7") as string });
});
