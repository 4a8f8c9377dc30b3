import { expect, test } from "vitest";
import { createTestDatabase } from "../support/postgres.js";
import { ServeCluster } from "../support/serve-cluster.js";
import type { ServeProcess } from "../support/serve-process.js";
import { type ServerEvent, ServerEvents } from "../support/server-events.js";

interface Created {
  readonly token: { readonly id: string };
  readonly secret: string;
}

/** What a page of this node does in a browser: it signs in, reads, acts, and listens. */
class Page {
  private readonly node: ServeProcess;
  cookie = "";

  constructor(node: ServeProcess) {
    this.node = node;
  }

  async signIn(token: string): Promise<number> {
    const answer = await this.act("POST", "/session", { token });
    [this.cookie = ""] = (answer.headers.get("set-cookie") ?? "").split(";");
    return answer.status;
  }

  async act(method: "POST" | "DELETE", path: string, body?: object): Promise<Response> {
    const marks = { "x-holdfast-request": "dashboard", "x-holdfast-forward": "leader", origin: this.node.url };
    return await fetch(`${this.node.url}${path}`, {
      method,
      headers: { cookie: this.cookie, ...marks, ...(body === undefined ? {} : { "content-type": "application/json" }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  async read<Body>(path: string): Promise<Body> {
    return await this.node.read<Body>(path, { cookie: this.cookie });
  }
}

type Wanted = (event: ServerEvent) => boolean;

/** One of each, in whichever order they come. */
async function until(
  events: ServerEvents,
  ...wanted: readonly Wanted[]
): Promise<readonly (ServerEvent | undefined)[]> {
  const heard: ServerEvent[] = [];
  while (!wanted.every((each) => heard.some(each))) {
    const event = await events.next();
    if (event === null) throw new Error("the stream ended");
    heard.push(event);
  }
  return wanted.map((each) => heard.find(each));
}

const leads = (role: string, leader: string) => (event: ServerEvent) =>
  event.event === "leaders" &&
  (event.data.items as { role: string; leader_id: string }[]).some(
    (item) => item.role === role && item.leader_id === leader,
  );

test("a page of a standby acts through it, and follows a failover", { timeout: 90_000 }, async () => {
  await using database = await createTestDatabase();
  await using cluster = await ServeCluster.start(database.url, 2);
  const [leader, standby] = [cluster.node("node-1"), cluster.node("node-2")];
  expect(await (await standby.get("/")).text()).toContain('<script type="module"');

  const admin = await leader.post<Created>("/tokens", { name: "admin", role: "admin" });
  const bearer = { authorization: `Bearer ${admin.secret}` };
  const operator = await leader.post<Created>("/tokens", { name: "olga", role: "operator" }, bearer);
  const page = new Page(standby);
  // The standby hears of the token with its next beat.
  await expect.poll(async () => await page.signIn(operator.secret)).toBe(200);
  expect(await page.read("/session")).toMatchObject({ signed_in: true, name: "olga", node_id: "node-2" });

  const refused = await fetch(`${standby.url}/v1/jobs`, {
    method: "POST",
    headers: { authorization: `Bearer ${operator.secret}` },
  });
  expect(await refused.json()).toMatchObject({ error: "NOT_LEADER", leader_id: "node-1" });
  const made = await page.act("POST", "/v1/jobs", { op: "x", job_id: "job-1", payload: {} });
  expect(made.status).toBe(201);
  expect(made.headers.get("x-holdfast-node")).toBe("node-1");
  expect(await made.json()).toMatchObject({ job_id: "job-1", state: "queued" });
  const cancelled = await page.act("DELETE", "/v1/jobs/job-1");
  expect(await cancelled.json()).toMatchObject({ state: "cancelled" });
  const audit = await leader.read<{ items: object[] }>("/audit", bearer);
  const line = { actor: "olga", action: "DELETE /v1/jobs/:id", target: "job-1", outcome: "200" };
  expect(audit.items).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ ...line, node_id: "node-1" }),
      expect.objectContaining({ ...line, node_id: "node-2" }),
    ]),
  );

  await using events = await ServerEvents.open(standby.url, { path: "/cluster/events", token: operator.secret });
  await until(events, leads("scheduler", "node-1"));
  leader.kill("SIGKILL");
  const isElected: Wanted = ({ event, data }) => event === "history" && data.role === "scheduler";
  const [history] = await until(events, isElected, leads("scheduler", "node-2"));
  expect(history?.data).toMatchObject({ event: "elected", node_id: "node-2", previous_node_id: "node-1" });
  expect(history?.data.gap_seconds).toBeGreaterThanOrEqual(0);
  const again = await page.act("POST", "/v1/jobs", { op: "x", job_id: "job-2", payload: {} });
  expect(again.headers.get("x-holdfast-node")).toBe("node-2");
  expect(again.status).toBe(201);

  await fetch(`${standby.url}/tokens/${operator.token.id}`, { method: "DELETE", headers: bearer });
  await until(events, ({ event }) => event === "signed_out");
  expect(await events.next()).toBeNull();
  expect(await page.read("/session")).toMatchObject({ signed_in: false });
  for (const { output } of cluster.nodes) {
    expect(output).not.toContain(operator.secret);
    expect(output).not.toContain(admin.secret);
  }
});
