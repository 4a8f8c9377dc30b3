import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { nextLeader } from "../examples/example-process.js";
import { freePort } from "../support/free-ports.js";
import { blocksOf, Guide, patience } from "../support/guide.js";
import { rowsOf, startTestServer } from "../support/postgres.js";
import { administratorEnv, isMissing } from "../support/programs.js";
import { startReplica } from "../support/replica.js";

const block = blocksOf("database-failover");
const files = join(import.meta.dirname, "../../docs/guides/files");

/** Patroni's REST API as far as HAProxy asks it: 200 from the primary, 503 from a replica. */
async function startPatroni(isPrimary: () => boolean): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer((request, response) => {
    response.writeHead(request.url === "/primary" && isPrimary() ? 200 : 503).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  };
  return { port: (server.address() as AddressInfo).port, [Symbol.asyncDispose]: close };
}

/** HAProxy with the guide's file, at an address of its own. */
async function startProxy(env: Readonly<Record<string, string>>): Promise<AsyncDisposable & { readonly host: string }> {
  const host = `127.0.0.1:${await freePort()}`;
  const child = spawn("haproxy", ["-q", "-db", "-f", join(files, "patroni-haproxy.cfg")], {
    env: { ...administratorEnv, ...env, PG_BIND: host },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const exited = once(child, "exit");
  const stop = async (): Promise<void> => {
    child.kill("SIGKILL");
    await exited;
  };
  return { host, [Symbol.asyncDispose]: stop };
}

test.each(["files/patroni.yml", "files/patroni-haproxy.cfg"])("the guide prints %s as it is", (file) => {
  expect(block(file).text).toBe(readFileSync(join(files, "..", file), "utf8"));
});

test("Patroni's timings leave room for two tries, as it wants them to, and failovers lose nothing", () => {
  const text = readFileSync(join(files, "patroni.yml"), "utf8");
  const number = (key: string): number => Number(text.match(new RegExp(`^${key}: (\\d+)$`, "m"))?.[1]);
  expect(number("loop_wait") + 2 * number("retry_timeout")).toBeLessThanOrEqual(number("ttl"));
  expect(text).toMatch(/^synchronous_mode: true$/m);
});

describe.skipIf(isMissing("haproxy"))("with HAProxy", () => {
  test("its file is valid", async () => {
    const check = promisify(execFile)("haproxy", ["-c", "-f", join(files, "patroni-haproxy.cfg")], {
      env: administratorEnv,
    });
    await expect(check).resolves.toMatchObject({ stdout: expect.stringContaining("valid") });
  });

  test(
    "after a failover that lost an election nobody leads for a TTL, and the epoch jumps above the lost one",
    async () => {
      await using primary = await startTestServer();
      let promoted = false;
      await using patroniOfPrimary = await startPatroni(() => !promoted);
      await using patroniOfReplica = await startPatroni(() => promoted);
      await using replica = await startReplica(primary);
      await using proxy = await startProxy({
        PG_1: `127.0.0.1:${primary.port}`,
        PG_1_PATRONI: `${patroniOfPrimary.port}`,
        PG_2: `127.0.0.1:${replica.port}`,
        PG_2_PATRONI: `${patroniOfReplica.port}`,
      });
      const url = new URL(primary.url);
      url.host = proxy.host;
      await using guide = await Guide.open("database-failover", { DATABASE_URL: url.href });
      await using first = await guide.start("billing.mjs");
      await nextLeader([first]);
      await replica.caughtUp();
      await replica.stop();

      // The replica misses this election.
      await first.end("SIGTERM");
      await using second = await guide.start("billing.mjs");
      expect((await nextLeader([second], 1)).epoch).toBe(2);
      await primary.crash();
      await replica.start();
      await replica.promote();
      const promotedAt = Date.now();
      const floor = Math.floor(promotedAt / 1000) * 2 ** 21;
      promoted = true;

      const { epoch } = await nextLeader([second], 2);
      await second.line(/^lost epoch 2: (database_changed|trust_ran_out|superseded)$/);
      const history = await rowsOf<{ epoch: string; event: string; reason: string }>(
        replica.url,
        block("history.sql").text,
      );
      const printed = block("history.txt").text.split("\n").slice(2, -1);
      expect(history.map(({ event, reason }) => `${event} ${reason}`)).toEqual(
        printed.map((line) =>
          line
            .split("|")
            .slice(1)
            .map((cell) => cell.trim())
            .join(" "),
        ),
      );
      const epochs = history.map((row) => Number(row.epoch));
      expect(epochs).toEqual([1, epoch - 1, epoch]);
      expect(epoch).toBeGreaterThan(floor - 60 * 2 ** 21);
      expect(Number.isSafeInteger(epoch)).toBe(true);
      const [last] = await rowsOf<{ ms: number }>(
        replica.url,
        "select extract(epoch from max(at))::float8 * 1000 as ms from holdfast.history where role = 'billing'",
      );
      // Not from the quarantine's own line, which is written just after the instant that it begins at.
      expect(last?.ms).toBeGreaterThanOrEqual(promotedAt + 5_000);
    },
    patience.timeout,
  );
});
