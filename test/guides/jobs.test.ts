import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { repositoryRoot } from "../support/demo-process.js";
import { blocksOf, Guide, patience, readerSettings, servesAsLeader } from "../support/guide.js";
import { createTestDatabase, withClient } from "../support/postgres.js";
import { isMissing } from "../support/programs.js";

const block = blocksOf("jobs");
const inCurl = join("examples", "agent-in-curl.sh");

it("a job waits for an agent, which does it, and so does one in plain curl", patience, async () => {
  await using database = await createTestDatabase();
  await using guide = await Guide.open("jobs", await readerSettings(database.url));
  await guide.writeShown("ops/hello.js");
  await guide.write(inCurl, await readFile(join(repositoryRoot, inCurl), "utf8"));
  await servesAsLeader(await guide.start("serve"));

  const agents = isMissing("curl") ? ["agent"] : ["agent", "agent-in-curl"];
  for (const name of agents) {
    const submitted = await guide.start("submit");
    const agent = await guide.start(name);
    expect(await submitted.exited).toEqual({ code: 0, signal: null });
    expect(submitted.stdout.join("\n")).toContain(name === "agent" ? "hello from my agent" : "hello from curl-agent");
    await agent.end("SIGTERM");
  }
});

it("a program of one's own submits jobs where it leads, the same one once", patience, async () => {
  await using database = await createTestDatabase();
  await using guide = await Guide.open("jobs", { DATABASE_URL: database.url });
  const queued = async (): Promise<readonly unknown[]> =>
    await withClient(database.url, async (client) => {
      const { rows } = await client.query("SELECT op, payload, idempotency_key, leader_epoch::int FROM holdfast.jobs");
      return rows;
    });
  const once = [{ op: "resize", payload: { image: 7 }, idempotency_key: "resize-7", leader_epoch: 1 }];
  const { text, ...library } = block("library");
  const program = { ...library, text: `${text}console.log("submitted");\n` };
  await using first = await guide.project.start(program);
  await first.line(/^submitted$/);
  expect(await queued()).toEqual(once);
  await first.end("SIGKILL");
  await using second = await guide.project.start(program);
  await second.line(/"role":"scheduler","epoch":2,.*"msg":"elected"/);
  await second.line(/^submitted$/);
  expect(await queued()).toEqual(once);
});
