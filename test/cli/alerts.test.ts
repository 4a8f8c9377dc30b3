import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { run as runProgram } from "../../src/cli/run.js";
import type { AlertAnswer } from "../../src/server/alert-answers.js";
import { type RunningServer, startServer } from "../../src/server/serve.js";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { type CommandResult, runHere } from "../support/command.js";
import { calm, clusterNode } from "../support/election.js";
import { FakeCommandLine } from "../support/fake-command-line.js";
import { freePort } from "../support/free-ports.js";
import { type LocalNode, startLocalNode } from "../support/local-node.js";
import { NotificationReceiver } from "../support/notification-receiver.js";
import { createTestDatabase, type TestDatabase } from "../support/postgres.js";

describe("the commands of alerts", () => {
  let database: TestDatabase;
  let receiver: NotificationReceiver;
  let local: LocalNode;
  let server: RunningServer;

  beforeAll(async () => {
    database = await createTestDatabase();
    receiver = await NotificationReceiver.start();
    const port = await freePort();
    const notify = [`webhook:${receiver.url}/hush`];
    local = await startLocalNode({
      ...clusterNode(database.url, "a", calm),
      api: { port, publicUrl: `http://127.0.0.1:${port}` },
      alerting: { defaults: false, interval: "250ms" },
      alerts: [
        { name: "always", condition: 'holdfast_cluster_nodes{status="active"} > 0', summary: "It holds.", notify },
        { name: "never", condition: "holdfast_alert_rounds_total < 0", for: "30s" },
        { name: "cannot", condition: "holdfast_alert_rounds_total < 0", notify: ["webhook:http://127.0.0.1:1/hush"] },
      ],
      notify: { webhook: { allow: ["127.0.0.1"] } },
    });
    server = await startServer(local.node);
    const fires = async () => (await local.node.alerts.list()).some(({ state }) => state === "firing");
    await waitUntil(fires, 20_000);
  });

  afterAll(async () => {
    await server?.close();
    await local?.node.close();
    await receiver?.[Symbol.asyncDispose]();
    await database?.drop();
  });

  const at = async (...args: readonly string[]): Promise<CommandResult> =>
    await runHere(["alerts", ...args], { env: { HOLDFAST_URL: server.url } });

  const saidBy = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await at(...args);
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: "" });
    return stdout;
  };

  const always = async (): Promise<AlertAnswer> => {
    const { items } = JSON.parse(await saidBy("list", "--json")) as { items: AlertAnswer[] };
    return items[0] as AlertAnswer;
  };

  it("list shows what fires, since when and why", async () => {
    const [title, row] = (await saidBy("list")).trimEnd().split("\n");
    expect(title).toMatch(/^alert +state +severity +since +value +summary +id$/);
    expect(row).toMatch(/^always +firing +warning +[\d.]+ m?s +1 +It holds\. +[0-9a-f]{32}$/);
    expect(await saidBy("list", "--state", "resolved")).toBe("No alert is resolved.\n");
    expect((await at("list", "--state", "bad")).code).toBe(2);
  });

  it.each([40, 80, 120])("list fits a terminal of %i columns", async (columns) => {
    const cli = new FakeCommandLine({ isTTY: true, columns, env: { HOLDFAST_URL: server.url, NO_COLOR: "1" } });
    expect(await runProgram(["alerts", "list"], cli)).toBe(0);
    const lines = cli.written.trimEnd().split("\n");
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(columns);
  });

  it("rules shows every rule, and whether it holds", async () => {
    const text = await saidBy("rules");
    expect(text).toMatch(/^always +firing +warning +- +log, webhook:127\.0\.0\.1:\d+#[0-9a-f]{8} /m);
    expect(text).toMatch(/^never +inactive +warning +30\.0 s +log +/m);
    expect(text).not.toContain("hush");
  });

  it("acknowledge and resolve do so by hand, and whoever is told is told", async () => {
    const { id } = await always();
    expect(await saidBy("acknowledge", id)).toBe("Acknowledged: always is acknowledged.\n");
    expect(await saidBy("resolve", id)).toBe("Resolved: always is resolved.\n");
    await receiver.told("always", ["firing", "acknowledged", "resolved"]);
    expect(await always()).toMatchObject({ state: "resolved", resolved_by: "anyone" });
    const refused = await at("acknowledge", id);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("The alert always does not fire; it is resolved. [REFUSED]");
  });

  it("test says what happened to each target, and ends with 1 where one was not reached", async () => {
    expect(await saidBy("test", "always")).toMatch(/^target +outcome +problem\nlog +sent\nwebhook:\S+ +sent\n$/);
    expect(receiver.notifications().at(-1)).toMatchObject({ kind: "test", name: "always" });
    const all = await at("test");
    expect(all).toMatchObject({ code: 1, stderr: "" });
    expect(all.stdout).toMatch(/^webhook:127\.0\.0\.1:1#\w+ +failed +the connection failed \(ECONNREFUSED\)$/m);
    const unknown = await at("test", "nope");
    expect(unknown.stderr).toContain('There is no rule "nope". There are: always, never, cannot.');
  });
});
