import { execFile } from "node:child_process";
import { expect, test } from "vitest";
import { startTestServer, withClient } from "../support/postgres.js";
import {
  programPath,
  quickCluster,
  ServeProcess,
  type ServeSettings,
  serveEnvironment,
} from "../support/serve-process.js";

/** Each is nowhere else in the world, so where it turns up it has leaked. */
const canaries = {
  password: "canary-password-5f0b",
  urlPassword: "canary-url-password-91cc",
  webhook: "canary-webhook-3ad7",
  routingKey: "canary-routing-key-77e1",
  wrongToken: "hf_canary-wrong-token-c2d4",
  payload: "canary-payload-8be6",
  header: "canary-header-0f1a",
  query: "canary-query-6d3c",
  path: "canary-path-24f9",
};

interface Run {
  readonly code: number;
  readonly text: string;
  readonly stdout: string;
}

/** The command line, once, with all that it wrote. */
function holdfast(args: readonly string[], settings: ServeSettings, env: Record<string, string> = {}): Promise<Run> {
  return new Promise((resolve) => {
    const options = { env: serveEnvironment(settings, env), timeout: 60_000 };
    execFile(process.execPath, [programPath, ...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
      resolve({ code, stdout, text: `${stdout}${stderr}` });
    });
  });
}

/** Where secrets and payloads could show up, each with what was found there. */
async function collect(database: string) {
  const seen: [string, string][] = [];
  await withClient(database, (client) =>
    client.query(`CREATE ROLE canary LOGIN SUPERUSER PASSWORD '${canaries.password}'`),
  );
  const url = new URL(database);
  url.username = "canary";
  // Overruled by store.password, and a secret all the same.
  url.password = canaries.urlPassword;
  const settings: ServeSettings = {
    ...quickCluster,
    "store.url": url.href,
    "store.password": canaries.password,
    "notify.slack.webhook_url": `https://hooks.example/${canaries.webhook}`,
    "notify.pagerduty.routing_key": canaries.routingKey,
    "cluster.node_id": "canary",
    "log.level": "trace",
  };
  const minted = await holdfast(["token", "create", "--direct", "--name", "admin", "--role", "admin"], settings);
  const secret = minted.stdout.trim();
  expect(secret, minted.text).toMatch(/^hf_/);
  await using node = await ServeProcess.start({ settings });
  const ask = async (what: string, path: string, init: RequestInit = {}) => {
    const answer = await fetch(`${node.url}${path}`, init);
    seen.push([what, `${JSON.stringify([...answer.headers])}${await answer.text()}`]);
    return answer.status;
  };
  const authorization = `Bearer ${secret}`;
  const json = { authorization, "content-type": "application/json", "x-extra": canaries.header };
  const post = (body: string, headers: Record<string, string> = json) => ({ method: "POST", headers, body });
  const payload = JSON.stringify({ op: "x", payload: canaries.payload });
  expect(
    await ask("a wrong token", "/cluster/nodes", { headers: { authorization: `Bearer ${canaries.wrongToken}` } }),
  ).toBe(401);
  expect(await ask("a token in the query", `/cluster/nodes?token=${canaries.query}`)).toBe(401);
  expect(await ask("a body that is no JSON", "/tokens", post(`{"name": "${canaries.payload}`))).toBe(400);
  expect(await ask("a field that is unknown", "/tokens", post(JSON.stringify({ nme: canaries.payload })))).toBe(422);
  expect(
    await ask("a value of the wrong kind", "/tokens", post(JSON.stringify({ name: "n", role: canaries.payload }))),
  ).toBe(422);
  await ask("a job", "/v1/jobs", post(payload));
  await ask("a path that does not exist", `/nothing/${canaries.path}?q=${canaries.query}`, {
    headers: { authorization },
  });
  await ask(
    "a step-down with a strange successor",
    "/cluster/leaders/scheduler/step-down",
    post(JSON.stringify({ to: "nobody" })),
  );
  for (const path of [
    "/metrics",
    "/metrics/cluster",
    "/audit",
    "/tokens",
    "/openapi.json",
    "/docs",
    "/cluster/nodes",
    "/cluster/history",
  ]) {
    expect(await ask(path, path, { headers: { authorization } }), path).toBe(200);
  }
  const made = await fetch(`${node.url}/tokens`, post(JSON.stringify({ name: "another", role: "viewer" })));
  const { secret: another } = (await made.json()) as { secret: string };
  expect(another).toMatch(/^hf_/);
  await ask("the audit after that", "/audit", { headers: { authorization } });
  await ask("the tokens after that", "/tokens", { headers: { authorization } });
  for (const args of [
    ["config", "check"],
    ["config", "check", "--json"],
    ["doctor", "--json"],
    ["doctor", "--verbose"],
    ["migrate", "--dry-run"],
  ]) {
    seen.push([args.join(" "), (await holdfast(args, settings)).text]);
  }
  const env = { HOLDFAST_URL: node.url, HOLDFAST_TOKEN: canaries.wrongToken };
  seen.push(["the CLI with a wrong token", (await holdfast(["cluster", "nodes", "--verbose"], {}, env)).text]);
  const unreachable = { ...settings, "store.url": `postgres://u:${canaries.urlPassword}@127.0.0.1:1/x` };
  seen.push(["a database that is away", (await holdfast(["doctor", "--verbose"], unreachable)).text]);
  const broken = { ...settings, "store.url": `nonsense://${canaries.urlPassword}`, "store.pool_size": "many" };
  seen.push(["settings that are wrong", (await holdfast(["config", "check", "--verbose"], broken)).text]);
  node.kill("SIGTERM");
  await node.exited;
  seen.push(["the log", node.output]);
  return { seen, secrets: { ...canaries, secret, another } };
}

test("no secret and no payload shows up in logs, metrics, errors, audit or any answer", async () => {
  await using server = await startTestServer();
  const { seen, secrets } = await collect(server.url);
  // The log is a witness only if it tells of the requests at all.
  expect(seen.find(([what]) => what === "the log")?.[1]).toContain("/cluster/nodes");
  const leaks = seen.flatMap(([where, text]) =>
    Object.entries(secrets).flatMap(([name, canary]) => {
      const shown = text.includes(canary) || text.includes(encodeURIComponent(canary));
      return shown ? [`${name} in ${where}`] : [];
    }),
  );
  expect(leaks).toEqual([]);
});

test("the canary test can fail: a canary that is printed is found", async () => {
  const { text } = await holdfast(["config", "check"], { "cluster.name": canaries.payload });
  expect(text).toContain(canaries.payload);
});
