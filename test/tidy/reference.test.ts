import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { createProgram } from "../../src/cli/program.js";
import { catalogue } from "../../src/config/catalogue.js";
import { environmentName } from "../../src/config/environment-name.js";
import { foreignNames } from "../../src/config/foreign-names.js";
import { showValue } from "../../src/config/setting.js";
import { snakeCase } from "../../src/config/shape.js";
import { deriveTiming, type TimingSettings } from "../../src/election/core/timing.js";
import { errorCodes } from "../../src/errors.js";
import { AlertMetrics } from "../../src/telemetry/alert-metrics.js";
import { ClusterMetrics } from "../../src/telemetry/cluster-metrics.js";
import { CompactionMetrics } from "../../src/telemetry/compaction-metrics.js";
import { CronMetrics } from "../../src/telemetry/cron-metrics.js";
import { EngineMetrics } from "../../src/telemetry/engine-metrics.js";
import { HttpMetrics } from "../../src/telemetry/http-metrics.js";
import { JobMetrics } from "../../src/telemetry/job-metrics.js";
import { ElectionMetrics } from "../../src/telemetry/metrics.js";
import { QueueMetrics } from "../../src/telemetry/queue-metrics.js";
import { FakeCommandLine } from "../support/fake-command-line.js";
import { readSource, repositoryPaths, repositoryRoot } from "./source-tree.js";

type Pages = Readonly<Record<string, string>>;
const script = pathToFileURL(join(repositoryRoot, "scripts/reference.mjs")).href;
const { renderReference } = (await import(script)) as { renderReference: (modules: Record<string, unknown>) => Pages };

const errorsSource = readSource("src/errors.ts").text;
const settings = { catalogue, foreignNames, environmentName, showValue, snakeCase };
const ofWork = { QueueMetrics, JobMetrics, CronMetrics, CompactionMetrics, EngineMetrics, AlertMetrics };
const metrics = { ElectionMetrics, ClusterMetrics, ...ofWork, HttpMetrics, Registry };
const program = createProgram(new FakeCommandLine());
const modules = { settings, errorsSource, metrics, program };
const pages = renderReference(modules);

describe("the reference", () => {
  it.each(Object.keys(pages))("in %s is what the code says: else run node scripts/reference.mjs", (path) => {
    expect(readSource(path).text).toBe(pages[path]);
  });

  it("changes with the code, so that a drift shows", () => {
    const other = renderReference({
      ...modules,
      settings: { ...settings, foreignNames: { ...foreignNames, tempo: "cluster.heartbeat_seconds" } },
    });
    expect(other["docs/reference/settings.md"]).not.toBe(pages["docs/reference/settings.md"]);
    expect(other["docs/reference/settings.md"]).toContain("`tempo`");
  });

  it("has every option of every command, and changes with them", () => {
    const other = createProgram(new FakeCommandLine());
    other.commands.find((command) => command.name() === "migrate")?.option("--backwards", "take it back");
    const page = renderReference({ ...modules, program: other })["docs/reference/cli.md"];
    expect(page).toContain("`--backwards`");
    expect(page).not.toBe(pages["docs/reference/cli.md"]);
  });

  it("has every error of the catalogue, each with its meaning", () => {
    const page = pages["docs/reference/errors.md"] ?? "";
    expect(errorCodes.filter((code) => !page.includes(`| \`${code}\` `))).toEqual([]);
  });

  it("states the margins between the timings as they are checked", () => {
    const settings: TimingSettings = {
      heartbeatMs: 1_000,
      fenceMs: 3_500,
      ttlMs: 3_591,
      nodeTimeoutMs: 5_000,
      acquireDelayMs: 0,
      evidenceGraceMs: 0,
      drainTimeoutMs: 0,
    };
    expect(() => deriveTiming(settings)).not.toThrow();
    expect(() => deriveTiming({ ...settings, ttlMs: 3_590 })).toThrow("margin");
    expect(() => deriveTiming({ ...settings, fenceMs: 1_399 })).toThrow("retry");
    expect(deriveTiming({ ...settings, fenceMs: 1_400 }).requestTimeoutMs).toBe(100);
    expect(() => deriveTiming({ ...settings, evidenceGraceMs: 99 })).toThrow("evidence_grace");
  });
});

describe("the documents", () => {
  const documents = repositoryPaths().filter((path) => path.endsWith(".md"));

  it.each(documents)("%s links only to files that are there", (path) => {
    const { text } = readSource(path);
    const targets = [...text.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)(?:#[^)]*)?\)/g)].map(
      ([, target = ""]) => target,
    );
    const missing = targets.filter((target) => !existsSync(join(repositoryRoot, path, "..", target)));
    expect(missing).toEqual([]);
  });

  it("give the reason of every dependency", () => {
    const { dependencies, optionalDependencies, devDependencies } = JSON.parse(
      readSource("package.json").text,
    ) as Record<string, Record<string, string>>;
    const reasons = readSource("docs/adr/0010-dependencies.md").text;
    const names = Object.keys({ ...dependencies, ...optionalDependencies, ...devDependencies });
    expect(names.filter((name) => !reasons.includes(`\`${name}\``))).toEqual([]);
  });

  it("list every decision", () => {
    const decisions = documents
      .filter((path) => /^docs\/adr\/\d/.test(path))
      .map((path) => path.split("/").at(-1) ?? "");
    const list = readSource("docs/adr/README.md").text;
    expect(decisions.filter((name) => !list.includes(`](${name})`))).toEqual([]);
  });
});
