import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { closePatienceMs } from "../../src/cli/serving.js";
import { resolveConfig } from "../../src/config/config.js";
import { serveOpen } from "../api/served.js";
import { runHere } from "../support/command.js";
import { historyOf } from "../support/election.js";
import { freePort } from "../support/free-ports.js";
import { blocksOf, Guide, patience } from "../support/guide.js";
import { createTestDatabase, rowsOf } from "../support/postgres.js";
import { isMissing } from "../support/programs.js";
import { complaintsOf } from "../support/systemd-unit.js";

const block = blocksOf("drain-on-deploy");

const root = join(import.meta.dirname, "../..");
const fileOf = (name: string): string => readFileSync(join(root, "examples/deploy", name), "utf8");

/** What a node may take to stop with the settings as they come. */
const leastSeconds = resolveConfig({}, false).shutdown.drainTimeoutSeconds + closePatienceMs / 1000;

/** Whether a node takes these variables: each a setting, all of them fit. */
const checkSettings = async (env: Readonly<Record<string, string>>) => await runHere(["config", "check"], { env });

describe("the unit of systemd", () => {
  const unit = fileOf("holdfast.service");

  it("is what the guide shows", () => {
    expect(block("holdfast.service").text).toBe(unit);
  });

  it("leaves a node the time that it may take", () => {
    expect(Number(unit.match(/^TimeoutStopSec=(\d+)$/m)?.[1])).toBeGreaterThan(leastSeconds);
    expect(unit).toMatch(/^KillMode=mixed$/m);
  });

  it.skipIf(isMissing("systemd-analyze"))("is one that systemd takes", async () => {
    expect(await complaintsOf(unit)).toBe("");
    expect(await complaintsOf(unit.replace("mixed", "mixt"))).toContain("mixt");
  });
});

interface Probe {
  readonly httpGet: { readonly path: string; readonly scheme: string };
}

interface Container {
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value?: string }[];
  readonly lifecycle: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } };
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly securityContext: {
    readonly runAsNonRoot: boolean;
    readonly runAsUser?: number;
    readonly runAsGroup?: number;
  };
}

interface PodSpec {
  readonly terminationGracePeriodSeconds: number;
  readonly containers: readonly [Container];
}

interface Resource {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly serviceName?: string;
    readonly clusterIP?: string;
    readonly publishNotReadyAddresses?: boolean;
    readonly ports?: readonly { readonly port: number }[];
    readonly selector: { readonly app?: string; readonly matchLabels?: { readonly app: string } };
    readonly template?: { readonly metadata: { readonly labels: object }; readonly spec: PodSpec };
  };
}

describe("the resources of Kubernetes", () => {
  const documents = parseAllDocuments(fileOf("kubernetes.yaml"));
  const resources = documents.map((document) => document.toJS() as Resource);
  const ofKind = (kind: string): Resource => resources.find((resource) => resource.kind === kind) as Resource;
  const services = resources.filter(({ kind }) => kind === "Service");
  const set = ofKind("StatefulSet").spec;
  const pod = set.template?.spec as PodSpec;
  const [container] = pod.containers;

  it("are what the guide shows, and YAML", () => {
    expect(block("kubernetes.yaml").text).toBe(fileOf("kubernetes.yaml"));
    expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([]);
    expect(resources.map(({ kind }) => kind)).toEqual(["Service", "Service", "PodDisruptionBudget", "StatefulSet"]);
  });

  it("speak of the same pods", () => {
    const labels = { app: "holdfast" };
    expect(services.map(({ spec }) => spec.selector)).toEqual([labels, labels]);
    expect(ofKind("PodDisruptionBudget").spec.selector.matchLabels).toEqual(labels);
    expect(set.selector.matchLabels).toEqual(labels);
    expect(set.template?.metadata.labels).toEqual(labels);
  });

  it("name every node, and lead clients only to those that are ready", () => {
    const [names, api] = services;
    expect(set.serviceName).toBe(names?.metadata.name);
    expect(names?.spec).toMatchObject({ clusterIP: "None", publishNotReadyAddresses: true });
    expect(api?.metadata.name).toBe("holdfast-api");
    expect(api?.spec.clusterIP ?? "any").not.toBe("None");
    expect(api?.spec.publishNotReadyAddresses ?? false).toBe(false);
    expect(api?.spec.ports).toEqual(names?.spec.ports);
  });

  it("run nobody as root, by numbers that Kubernetes can judge", () => {
    const { runAsNonRoot, runAsUser, runAsGroup } = container.securityContext;
    expect(runAsNonRoot).toBe(true);
    expect(runAsUser).toBeGreaterThan(0);
    expect(runAsGroup).toBeGreaterThan(0);
    // The image's own user, whose files they are.
    expect(readFileSync(join(root, "deploy/Dockerfile"), "utf8")).toMatch(new RegExp(`^USER ${runAsUser}$`, "m"));
  });

  it("leave a node the time that it may take, preStop included", () => {
    const [program, seconds] = container.lifecycle.preStop.exec.command;
    expect(program).toBe("sleep");
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(leastSeconds + Number(seconds));
  });

  it("ask at paths that a node has", async () => {
    await using served = await serveOpen();
    const { paths } = (await served.app.inject({ url: "/openapi.json" })).json<{ paths: object }>();
    expect(container.livenessProbe.httpGet.path).toBe("/health");
    expect(container.readinessProbe.httpGet.path).toBe("/ready");
    expect(Object.keys(paths)).toEqual(expect.arrayContaining(["/health", "/ready"]));
  });

  it("have settings that a node takes", async () => {
    const resolved = container.env.map(({ name, value }): [string, string] => [name, value ?? "from-elsewhere"]);
    const env = {
      ...Object.fromEntries(resolved),
      // What Kubernetes fills in, and what is mounted there.
      HOLDFAST_STORE_URL: "postgres://holdfast@db/app",
      HOLDFAST_API_PUBLIC_URL: "https://holdfast-0.holdfast:7400",
      HOLDFAST_API_TLS_CERT: join(root, "test/support/tls/localhost.crt"),
      HOLDFAST_API_TLS_KEY: join(root, "test/support/tls/localhost.key"),
    };
    expect(resolved.map(([name]) => name)).toEqual(expect.arrayContaining(Object.keys(env)));
    expect(await checkSettings(env)).toMatchObject({ code: 0, stderr: "" });
    expect((await checkSettings({ ...env, HOLDFAST_API_HOSTS: "x" })).code).toBe(2);
  });
});

describe("the file of PM2", () => {
  interface App {
    readonly script: string;
    readonly args: string;
    readonly exec_mode: string;
    readonly increment_var: string;
    readonly env: Readonly<Record<string, string | number>>;
    readonly kill_timeout: number;
  }
  const require = createRequire(import.meta.url);
  const { apps } = require("../../examples/deploy/ecosystem.config.cjs") as { readonly apps: readonly [App] };
  const [app] = apps;

  it("is what the guide shows", () => {
    expect(block("ecosystem.config.cjs").text).toBe(fileOf("ecosystem.config.cjs"));
  });

  it("starts the program that the package has, and leaves it the time that it may take", () => {
    const packaged = readFileSync(join(root, "package.json"), "utf8");
    const { bin } = JSON.parse(packaged) as { readonly bin: { readonly holdfast: string } };
    expect(app.script).toBe(join("node_modules/holdfast", bin.holdfast));
    expect(app.kill_timeout).toBeGreaterThan(leastSeconds * 1000);
    expect(app.exec_mode).toBe("fork");
    expect(Object.keys(app.env)).toContain(app.increment_var);
  });

  it("has settings that a node takes", async () => {
    const env = Object.fromEntries(Object.entries(app.env).map(([name, value]) => [name, String(value)]));
    expect(await checkSettings({ ...env, HOLDFAST_STORE_URL: "postgres://holdfast@localhost/app" })).toMatchObject({
      code: 0,
    });
  });
});

describe("a program of one's own", () => {
  /** Milliseconds of the database's clock. */
  const clockOf = async (url: string): Promise<number> => {
    const sql = "select extract(epoch from clock_timestamp())::float8 * 1000 as now";
    const [row] = await rowsOf<{ now: number }>(url, sql);
    return row?.now ?? Number.NaN;
  };

  const reports = `
export const lead = async (term) => {
  console.log("leading under epoch " + term.epoch);
  await new Promise((end) => term.signal.addEventListener("abort", end));
};
export const makeReport = async () => {
  console.log("making a report");
  await new Promise((go) => process.once("SIGUSR2", go));
  return "the report";
};
`;

  it(
    "delivers what is under way, refuses what is new, says that it is not ready, and hands over",
    patience,
    async () => {
      await using database = await createTestDatabase();
      const ports = [await freePort(), await freePort()] as const;
      const envOf = (port: number) => ({ DATABASE_URL: database.url, PORT: String(port) });
      await using guide = await Guide.open("drain-on-deploy", envOf(ports[0]));
      await using other = await Guide.open("drain-on-deploy", envOf(ports[1]));
      for (const each of [guide, other]) await each.write("reports.mjs", reports);
      const ask = async (path: string) =>
        await fetch(`http://127.0.0.1:${ports[0]}${path}`, { signal: AbortSignal.timeout(20_000) });

      const first = await guide.start("app");
      await first.line(/^leading under epoch 1$/);
      const second = await other.start("app");
      await expect.poll(async () => (await ask("/ready").catch(() => null))?.status).toBe(200);
      await expect.poll(async () => await fetch(`http://127.0.0.1:${ports[1]}/ready`).catch(() => null)).not.toBeNull();

      const report = ask("/report");
      await first.line(/^making a report$/);
      first.signal("SIGTERM");
      await expect.poll(async () => (await ask("/ready")).status).toBe(503);
      expect((await ask("/report")).status).toBe(503);
      // While the report is under way the lease is renewed.
      const draining = await clockOf(database.url);
      const renewed = "select 1 from holdfast.leases where epoch = 1 and renewed_at > to_timestamp($1::float8 / 1000)";
      await expect.poll(async () => await rowsOf(database.url, renewed, [draining])).toHaveLength(1);
      const underWay = await clockOf(database.url);
      first.signal("SIGUSR2");
      expect(await (await report).text()).toBe("the report");
      expect(await first.exited).toEqual({ code: 0, signal: null });
      await second.line(/^leading under epoch 2$/);
      const [, ...later] = await historyOf(database.url, "reports");
      expect(later.at(-1)).toMatchObject({ epoch: 2n, event: "elected", reason: "released" });
      for (const { at } of later) expect(at).toBeGreaterThan(underWay);
    },
  );
});
