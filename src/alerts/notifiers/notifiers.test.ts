import { createHmac } from "node:crypto";
import { createServer } from "node:net";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { NotificationReceiver } from "../../../test/support/notification-receiver.js";
import { startUpgradingServer } from "../../../test/support/upgrading-server.js";
import { type ConfigOptions, resolveConfig } from "../../config/config.js";
import type { NotificationBody } from "../notification.js";
import type { Notifier, Told } from "./notifier.js";
import { nameOfTarget, notifiersOf } from "./notifiers.js";

const notification: NotificationBody = {
  kind: "firing",
  cluster: "default",
  dedup_key: "abc",
  change: 3,
  name: "down",
  severity: "critical",
  summary: "Node <!channel> a & b is down.",
  condition: "up == 0",
  value: "0",
  labels: { alertname: "down", severity: "critical", node: "a" },
  at: 1_700_000_000.5,
  active_since: 1_699_999_970,
  fired_at: 1_700_000_000.5,
  acknowledged_by: null,
  resolved_by: null,
};

describe("notifiers", () => {
  let receiver: NotificationReceiver;
  const lines: Record<string, unknown>[] = [];
  const log = pino(
    { base: null },
    { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) },
  );
  const going = new AbortController();

  beforeEach(async () => {
    receiver = await NotificationReceiver.start();
    lines.length = 0;
  });
  afterEach(async () => await receiver[Symbol.asyncDispose]());

  function notifierOf(target: string, notify: ConfigOptions["notify"] = {}): Notifier {
    const config = resolveConfig({ alerting: { notify: [target] }, notify }, false);
    const notifiers = notifiersOf(config.alerting.notify, { notify: config.notify, log, now: () => 1_700_000_001_900 });
    const [first] = config.alerting.notify;
    const found = first === undefined ? undefined : notifiers.get(nameOfTarget(first));
    if (found === undefined) throw new Error(`no notifier for ${target}`);
    return found;
  }

  const send = async (notifier: Notifier, changed: Partial<NotificationBody> = {}): Promise<Told> =>
    await notifier.send({ ...notification, ...changed }, going.signal);

  const hook = (path = "/hook?key=hush", allow: readonly string[] = ["127.0.0.1"], secret = "s3cret"): Notifier =>
    notifierOf(`webhook:${receiver.url}${path}`, { webhook: { allow, secret } });

  it("post to a webhook the notification, signed over the time and the body", async () => {
    expect(await send(hook())).toEqual({ kind: "sent" });
    const [post] = receiver.posts;
    expect(post?.path).toBe("/hook?key=hush");
    expect(JSON.parse(post?.text ?? "")).toEqual(notification);
    expect(post?.headers).toMatchObject({
      "content-type": "application/json",
      "x-holdfast-timestamp": "1700000001",
      "x-holdfast-delivery": "abc.3",
    });
    const signature = createHmac("sha256", "s3cret").update(`1700000001.${post?.text}`).digest("hex");
    expect(post?.headers["x-holdfast-signature"]).toBe(`v1=${signature}`);
  });

  it("do not wait for a webhook that would speak another protocol", async () => {
    await using server = await startUpgradingServer();
    const told = await send(notifierOf(`webhook:${server.url}`, { webhook: { allow: ["127.0.0.1"], secret: "" } }));
    expect(told).toMatchObject({ kind: "failed", problem: "the connection failed" });
  });

  it("sign nothing where there is no secret", async () => {
    await send(hook("/", ["127.0.0.1"], ""));
    expect(receiver.posts[0]?.headers).not.toHaveProperty("x-holdfast-signature");
  });

  it.each(["", "localhost.invalid"])(
    "do not reach what is not public unless it is allowed, as with %j",
    async (allowed) => {
      const allow = allowed === "" ? [] : [allowed];
      expect(await send(hook("/x", allow))).toEqual({
        kind: "failed",
        problem: "127.0.0.1 is not public, and not in notify.webhook.allow",
        afterMs: null,
      });
      expect(receiver.posts).toEqual([]);
    },
  );

  it("judge a name by the addresses that it has, and connect to one of those", async () => {
    const { port } = new URL(receiver.url);
    const url = `webhook:http://localhost:${port}/x`;
    expect(await send(notifierOf(url))).toMatchObject({
      problem: "localhost is not public, and not in notify.webhook.allow",
    });
    expect(await send(notifierOf(url, { webhook: { allow: ["127.0.0.1", "::1"] } }))).toEqual({ kind: "sent" });
    expect(await send(notifierOf(url, { webhook: { allow: ["localhost"] } }))).toEqual({ kind: "sent" });
    expect(receiver.posts[0]?.headers.host).toBe(`localhost:${port}`);
  });

  it("follow no redirect", async () => {
    receiver.answers.push({ status: 302, headers: { location: `${receiver.url}/elsewhere` } });
    expect(await send(hook())).toEqual({ kind: "failed", problem: "HTTP 302", afterMs: null });
    expect(receiver.posts).toHaveLength(1);
  });

  it("say what went wrong, how long the other side wants to be left alone, and nothing secret", async () => {
    receiver.answers.push({ status: 503, headers: { "retry-after": "7" } });
    expect(await send(hook())).toEqual({ kind: "failed", problem: "HTTP 503", afterMs: 7_000 });
    const closed = notifierOf("webhook:http://127.0.0.1:1/hush", { webhook: { allow: ["127.0.0.1"] } });
    expect(await send(closed)).toEqual({
      kind: "failed",
      problem: "the connection failed (ECONNREFUSED)",
      afterMs: null,
    });
    const nowhere = notifierOf("webhook:https://nowhere.invalid/hush");
    const said = await send(nowhere);
    expect(said).toMatchObject({ kind: "failed", problem: expect.stringMatching(/^the connection failed \(E\w+\)$/) });
  });

  it("read no more of an answer than they need", async () => {
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => socket.write(`HTTP/1.1 200 OK\r\n\r\n${"x".repeat(100_000)}`));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { readonly port: number };
    const endless = notifierOf(`webhook:http://127.0.0.1:${port}/`, { webhook: { allow: ["127.0.0.1"] } });
    expect(await send(endless)).toEqual({ kind: "sent" });
    await new Promise((resolve) => server.close(resolve));
  });

  it("stop when they are called off", async () => {
    const server = createServer((socket) => socket.on("error", () => undefined));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { readonly port: number };
    const silent = notifierOf(`webhook:http://127.0.0.1:${port}/`, { webhook: { allow: ["127.0.0.1"] } });
    const off = new AbortController();
    server.once("connection", () => off.abort());
    expect(await silent.send(notification, off.signal)).toEqual({
      kind: "failed",
      problem: "it was called off",
      afterMs: null,
    });
    await new Promise((resolve) => server.close(resolve));
  });

  it("tell Slack, in the channel that is named, without calling anybody", async () => {
    const slack = { webhookUrl: `${receiver.url}/services/hush` };
    expect(await send(notifierOf("slack:#ops", { slack }))).toEqual({ kind: "sent" });
    expect(receiver.bodies[0]).toMatchObject({
      channel: "#ops",
      text: "[FIRING] down (critical) in cluster default",
      attachments: [
        {
          color: "#c62828",
          text: "Node &lt;!channel&gt; a &amp; b is down.\n`up == 0` is 0\nalertname=down, severity=critical, node=a",
          ts: 1_700_000_000,
        },
      ],
    });
    await send(notifierOf("slack", { slack }), { kind: "resolved", resolved_by: "ann" });
    expect(receiver.bodies[1]).not.toHaveProperty("channel");
    expect(receiver.bodies[1]).toMatchObject({ text: "[RESOLVED] down (critical) in cluster default" });
    expect(receiver.posts[1]?.text).toContain("by ann");
  });

  it("open, acknowledge and close PagerDuty's incident under one key", async () => {
    const pagerduty = { routingKey: "hush", url: `${receiver.url}/v2/enqueue` };
    const notifier = notifierOf("pagerduty", { pagerduty });
    for (const kind of ["firing", "acknowledged", "resolved"] as const) await send(notifier, { kind });
    expect(receiver.bodies.map(({ event_action: action }) => action)).toEqual(["trigger", "acknowledge", "resolve"]);
    expect(receiver.bodies[0]).toEqual({
      routing_key: "hush",
      event_action: "trigger",
      dedup_key: "abc",
      client: "Holdfast",
      payload: {
        summary: "[FIRING] down (critical) in cluster default: Node <!channel> a & b is down.",
        source: "a",
        severity: "critical",
        timestamp: "2023-11-14T22:13:20.500Z",
        group: "default",
        class: "down",
        custom_details: { condition: "up == 0", value: "0", labels: notification.labels },
      },
    });
    receiver.posts.length = 0;
    await send(notifier, { kind: "test", dedup_key: "test" });
    expect(receiver.bodies.map(({ event_action: action }) => action)).toEqual(["trigger", "resolve"]);
    receiver.answers.push({ status: 400 });
    expect(await send(notifier)).toEqual({ kind: "failed", problem: "HTTP 400", afterMs: null });
  });

  it("tell where an address is missing", async () => {
    expect(await send(notifierOf("slack"))).toMatchObject({ problem: "its address is not set, or none" });
  });

  it("write a line of the node's log, as loud as it is bad", async () => {
    const notifier = notifierOf("log");
    await send(notifier);
    await send(notifier, { severity: "warning" });
    await send(notifier, { kind: "resolved" });
    expect(lines).toMatchObject([
      {
        level: 50,
        msg: "[FIRING] down (critical) in cluster default: Node <!channel> a & b is down.",
        alert: "down",
        alert_id: "abc",
        state: "firing",
        labels: notification.labels,
      },
      { level: 40 },
      { level: 30 },
    ]);
  });

  it("have names that show nothing secret and tell webhooks of one host apart", () => {
    const targets = [
      "webhook:https://a.example/hush",
      "webhook:https://a.example/hush2",
      "slack",
      "slack:#x",
      "pagerduty",
    ];
    const { alerting } = resolveConfig({ alerting: { notify: targets } }, false);
    const names = alerting.notify.map(nameOfTarget);
    expect(new Set(names).size).toBe(5);
    expect(names[0]).toMatch(/^webhook:a\.example#[0-9a-f]{8}$/);
    expect(names.slice(2)).toEqual(["slack", "slack:#x", "pagerduty"]);
  });
});
