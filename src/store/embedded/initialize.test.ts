import { existsSync, readdirSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { spawnOwner } from "../../../test/support/embedded-owner.js";
import { makeTestDirectory, withClient } from "../../../test/support/postgres.js";
import { processMark } from "./process-identity.js";
import { startEmbedded } from "./server.js";
import { waitUntil } from "./wait-until.js";

const onLinux = process.platform === "linux";

let dataDir: string;

beforeEach(async () => {
  dataDir = await makeTestDirectory();
});

afterEach(() => rm(dataDir, { recursive: true, force: true, maxRetries: 10 }));

/** The pid of the initdb that fills a draft in this directory right now, as soon as there is one and it has written. */
async function initdbHalfway(): Promise<number> {
  let pid: number | undefined;
  await waitUntil(() => {
    const draft = readdirSync(dataDir).find((name) => name.startsWith("data.new-"));
    if (draft === undefined || !existsSync(join(dataDir, draft, "PG_VERSION"))) return false;
    pid = readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .find(
        (candidate) =>
          argumentsOf(candidate)[0]?.endsWith("/initdb") &&
          argumentsOf(candidate).includes(`--pgdata=${join(dataDir, draft)}`),
      );
    return pid !== undefined;
  }, 15_000);
  if (pid === undefined) throw new Error("No initdb was seen");
  return pid;
}

function argumentsOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  } catch {
    return [];
  }
}

async function expectUsable(): Promise<void> {
  await using server = await startEmbedded({ dataDir });
  expect((await withClient(server.url, (client) => client.query("SELECT 1 AS n"))).rows).toEqual([{ n: 1 }]);
  expect(readdirSync(dataDir).filter((name) => name.includes(".new"))).toEqual([]);
}

test.runIf(onLinux)("a killed initdb fails the start, and the next one begins afresh", async () => {
  const failed = expect(startEmbedded({ dataDir })).rejects.toMatchObject({
    code: "EMBEDDED_FAILED",
    message: expect.stringMatching(/^initdb failed on .* \(SIGKILL\)/),
  });
  process.kill(await initdbHalfway(), "SIGKILL");
  await failed;
  await expectUsable();
});

test.runIf(onLinux)(
  "an owner killed together with its initdb leaves half a directory that the next start does not use",
  async () => {
    using owner = spawnOwner({ dataDir });
    const initdb = await initdbHalfway();
    owner.child.kill("SIGSTOP");
    process.kill(initdb, "SIGKILL");
    owner.child.kill("SIGKILL");
    await owner.exited;
    expect(readdirSync(dataDir).some((name) => name.startsWith("data.new-"))).toBe(true);
    await expectUsable();
  },
);

test.runIf(onLinux)("an initdb does not outlive its owner", async () => {
  using owner = spawnOwner({ dataDir });
  const initdb = await initdbHalfway();
  owner.child.kill("SIGKILL");
  await owner.exited;
  expect(await waitUntil(() => processMark(initdb) === undefined, 15_000)).toBe(true);
  expect(existsSync(join(dataDir, "data"))).toBe(false);
  await expectUsable();
});
