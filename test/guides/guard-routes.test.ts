import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { json } from "node:stream/consumers";
import { describe, test } from "vitest";
import { eventually, nextLeader } from "../examples/example-process.js";
import { freePort } from "../support/free-ports.js";
import { blocksOf, Guide, patience, runSql } from "../support/guide.js";
import type { InstalledProject } from "../support/installed-project.js";
import { createTestDatabase, rowsOf, withClient } from "../support/postgres.js";
import { isMissing } from "../support/programs.js";
import type { Snippet } from "../support/snippets.js";
import type { StartedProgram } from "../support/started-program.js";
import { takeOver } from "../support/takeover.js";

const block = blocksOf("guard-routes");

interface Server {
  readonly program: StartedProgram;
  readonly url: string;
}

async function startServer(project: InstalledProject, name: string): Promise<Server> {
  const port = await freePort();
  const program = await project.start(block(name), { env: { PORT: `${port}` } });
  return { program, url: `http://localhost:${port}` };
}

async function order(url: string, body = '{ "item": "tea" }') {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${url}/orders`, { method: "POST", headers, body, signal: AbortSignal.timeout(20_000) });
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Record<string, unknown> };
}

/** An order whose body comes only after `meanwhile`. The guard lets it pass before that: it asks for the rest. */
async function slowOrder(url: string, meanwhile: () => Promise<unknown>) {
  const body = '{ "item": "late" }';
  const headers = { "content-type": "application/json", "content-length": body.length, expect: "100-continue" };
  const sending = request(`${url}/orders`, { method: "POST", headers });
  const answered = once(sending, "response");
  sending.flushHeaders();
  await once(sending, "continue");
  await meanwhile();
  sending.end(body);
  const [answer] = (await answered) as [IncomingMessage];
  return { status: answer.statusCode, body: (await json(answer)) as Record<string, unknown> };
}

describe.concurrent("guard your routes", patience, () => {
  test.for(["fastify.mjs", "express.mjs", "hono.mjs"])(
    "%s takes orders on the leader, and sends the callers of a standby there",
    async (name, { expect }) => {
      await using database = await createTestDatabase();
      await runSql(database.url, block("orders.sql"));
      const also = ["express", "hono", "@hono/node-server"];
      await using guide = await Guide.open("guard-routes", { DATABASE_URL: database.url }, { also });
      await guide.writeShown("orders.mjs");
      const one = await startServer(guide.project, name);
      await using first = one.program;
      const other = await startServer(guide.project, name);
      await using second = other.program;
      await Promise.all([first.line(/^listening$/), second.line(/^listening$/)]);
      const { replica, epoch } = await nextLeader([first, second]);
      const [leader, standby] = replica === first ? [one, other] : [other, one];

      const taken = await order(leader.url);
      expect(taken).toMatchObject({ status: 201, body: { id: 1, epoch } });
      const sentOn = await eventually(
        async () => {
          const refused = await order(standby.url, "{ not JSON");
          return refused.body["leader_url"] === leader.url ? refused : undefined;
        },
        () => "the standby never heard of the leader",
      );
      expect(sentOn).toMatchObject({
        status: 409,
        body: { error: "NOT_LEADER", leader_epoch: epoch, role: "STANDBY" },
      });
      const shown = Object.keys(JSON.parse(block("refusal.json").text) as object);
      expect(Object.keys(sentOn.body).toSorted()).toEqual(shown.toSorted());
      const read = await fetch(`${standby.url}/orders`);
      expect(read.status).toBe(200);
      expect(read.headers.get("x-holdfast-leader-id")).toBe(taken.headers.get("x-holdfast-node"));

      const late = await slowOrder(leader.url, () =>
        withClient(database.url, (client) => takeOver(client, "orders", { ttlMs: 1_000 })),
      );
      expect(late.status).toBe(409);
      expect(["STALE_EPOCH", "NOT_LEADER"]).toContain(late.body["error"]);
      expect(await rowsOf(database.url, "select item from orders")).toEqual([{ item: "tea" }]);

      const next = await nextLeader([first, second], epoch);
      const [stopping, staying] = next.replica === first ? [one, other] : [other, one];
      expect(await stopping.program.end("SIGTERM")).toEqual({ code: 0, signal: null });
      const last = await nextLeader([staying.program], next.epoch);
      expect(await order(staying.url)).toMatchObject({ status: 201, body: { epoch: last.epoch } });
    },
  );

  test.skipIf(isMissing("curl"))("of two orders, one at each replica, one is taken", async ({ expect }) => {
    await using database = await createTestDatabase();
    await runSql(database.url, block("orders.sql"));
    await using guide = await Guide.open("guard-routes", { DATABASE_URL: database.url });
    await guide.writeShown("orders.mjs", "fastify.mjs");
    // Other tests may have the guide's ports.
    const [first, second] = [`${await freePort()}`, `${await freePort()}`];
    const elsewhere = (name: string): Snippet => {
      const { text, ...rest } = block(name);
      return { ...rest, text: text.replaceAll("3001", first).replaceAll("3002", second) };
    };
    await using two = await guide.project.start(elsewhere("two"));
    await expect.poll(() => two.lines.filter((line) => line === "listening")).toHaveLength(2);
    await two.line(/^leading under epoch 1$/);
    const { stdout } = await guide.project.run(elsewhere("order"));
    const statuses = [...stdout.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status = ""]) => status);
    expect(statuses.toSorted()).toEqual(["201", "409"]);
    expect(await rowsOf(database.url, "select item from orders")).toEqual([{ item: "tea" }]);
  });
});
