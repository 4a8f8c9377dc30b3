import { describe, expect, it } from "vitest";
import { freePort } from "../support/free-ports.js";
import { createTestDatabase } from "../support/postgres.js";
import { type ExampleProcess, eventually, nextLeader, startExample } from "./example-process.js";

async function startReplica(example: string, database: string): Promise<{ replica: ExampleProcess; url: string }> {
  const port = await freePort();
  const replica = startExample(example, `${port}`, database);
  return { replica, url: `http://127.0.0.1:${port}` };
}

async function order(url: string, body = '{ "item": "tea" }') {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${url}/orders`, { method: "POST", headers, body, signal: AbortSignal.timeout(10_000) });
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Record<string, unknown> };
}

describe.each(["express-guard", "hono-guard", "fastify-guard"])("%s", (example) => {
  it("takes orders on the leader, and sends the callers of a standby there", async () => {
    await using database = await createTestDatabase();
    const one = await startReplica(example, database.url);
    await using first = one.replica;
    const other = await startReplica(example, database.url);
    await using second = other.replica;
    await Promise.all([first.line(/^listening/), second.line(/^listening/)]);
    const { replica: leader, epoch } = await nextLeader([first, second]);
    const [leading, standing] = leader === first ? [one, other] : [other, one];

    const taken = await order(leading.url);
    expect(taken).toMatchObject({ status: 201, body: { id: 1, epoch } });
    expect(taken.headers.get("x-holdfast-role")).toBe("LEADER");

    const leaderId = taken.headers.get("x-holdfast-node");
    const sent = await eventually(
      async () => {
        const refused = await order(standing.url);
        return refused.body.leader_id === null ? undefined : refused; // It has not heard of the leader yet.
      },
      () => "the standby never heard of the leader",
    );
    expect(sent.status).toBe(409);
    expect(sent.body).toEqual({
      error: "NOT_LEADER",
      leader_id: leaderId,
      leader_url: leading.url,
      leader_epoch: epoch,
      node_id: sent.headers.get("x-holdfast-node"),
      role: "STANDBY",
    });
    expect(sent.headers.get("x-holdfast-role")).toBe("STANDBY");
    expect(sent.headers.get("x-holdfast-leader-epoch")).toBe(`${epoch}`);
    expect((await order(standing.url, "{ not JSON")).status).toBe(409);

    const read = await fetch(`${standing.url}/orders`);
    expect(read.status).toBe(200);
    expect(read.headers.get("x-holdfast-leader-id")).toBe(leaderId);

    await leading.replica.end("SIGTERM");
    const { epoch: next } = await nextLeader([standing.replica], epoch);
    expect(await order(standing.url)).toMatchObject({ status: 201, body: { id: 2, epoch: next } });
  });
});
