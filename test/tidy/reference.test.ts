import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { createProgram } from "../../src/cli/program.js";
import { catalogue } from "../../src/config/catalogue.js";
import { environmentName } from "../../src/config/environment-name.js";
import { foreignNames } from "../../src/config/foreign-names.js";
import { showValue } from "../../src/config/setting.js";
import { snakeCase } from "../../src/config/shape.js";
import { deriveTiming, type TimingSettings } from "../../src/election/core/timing.js";
import { errorCodes } from "../../src/errors.js";
import { metricCatalogue } from "../../src/telemetry/metric-catalogue.js";
import { lossReasons } from "../../src/telemetry/metrics.js";
import { FakeCommandLine } from "../support/fake-command-line.js";
import { readSource, repositoryPaths, repositoryRoot } from "./source-tree.js";

type Pages = Readonly<Record<string, string>>;
const script = pathToFileURL(join(repositoryRoot, "scripts/reference.mjs")).href;
const { renderReference } = (await import(script)) as { renderReference: (modules: Record<string, unknown>) => Pages };

const read = (path: string): string => readSource(path).text;
const settings = { catalogue, foreignNames, environmentName, showValue, snakeCase };
const metrics = { metricCatalogue, lossReasons };
const program = createProgram(new FakeCommandLine());
const modules = { settings, metrics, program, read };
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

  it("has every metric of the catalogue", () => {
    const page = pages["docs/reference/metrics.md"] ?? "";
    const names = metricCatalogue("holdfast_").map(({ name }) => name);
    expect(names.length).toBeGreaterThan(30);
    expect(names.filter((name) => !page.includes(`| \`${name}\` `))).toEqual([]);
  });

  describe("of the library", () => {
    const page = pages["docs/reference/library.md"] ?? "";
    /** The page as it would be if a source said something else. */
    const pageWith = (path: string, from: string, to: string): string => {
      const changed = read(path).replace(from, to);
      expect(changed).not.toBe(read(path));
      const readChanged = (asked: string): string => (asked === path ? changed : read(asked));
      return renderReference({ ...modules, read: readChanged })["docs/reference/library.md"] ?? "";
    };

    it("has every entry point of the package", () => {
      const { exports } = JSON.parse(read("package.json")) as { readonly exports: Readonly<Record<string, unknown>> };
      const entries = Object.keys(exports).filter((subpath) => subpath !== "./package.json");
      expect(entries.filter((subpath) => !page.includes(`## ${subpath.replace(/^\./, "holdfast")}\n`))).toEqual([]);
    });

    it("shows what a term can do, and not what it is made of", () => {
      const [, term = ""] = page.split("### holdfast: LeaderTerm\n");
      const [shown = ""] = term.split("\n### ");
      expect(shown).toContain("transaction<Result>(fn: (tx: Tx) => Promise<Result>): Promise<Result>;");
      expect(shown).not.toContain("private");
      expect(shown).not.toContain("this.");
    });

    it("changes with a signature, however far from the entry point it stands", () => {
      const other = pageWith(
        "src/election/term.ts",
        "verify(): Promise<void>",
        "verify(patienceMs: number): Promise<void>",
      );
      expect(other).toContain("verify(patienceMs: number): Promise<void>;");
    });

    it("changes with what an entry point exports", () => {
      const line = 'export { version } from "./version.js";\n';
      expect(page).toContain("### holdfast: version\n");
      expect(pageWith("src/index.ts", line, "")).not.toContain("### holdfast: version\n");
    });

    it("is refused where something exported says nothing of itself", () => {
      const comment = "/** What an agent asks for. */\n";
      expect(() => pageWith("src/jobs/lease-polls.ts", comment, "")).toThrow("LeaseWish is exported by the package");
    });
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

  it("have a line for every room of the house", () => {
    const rooms = new Set(repositoryPaths().flatMap((path) => /^src\/[^/]+\//.exec(path)?.[0] ?? []));
    const table = readSource("docs/architecture.md").text;
    expect(rooms.size).toBeGreaterThan(10);
    expect([...rooms].filter((room) => !table.includes(`\`${room}`))).toEqual([]);
  });

  it("list every decision", () => {
    const decisions = documents
      .filter((path) => /^docs\/adr\/\d/.test(path))
      .map((path) => path.split("/").at(-1) ?? "");
    const list = readSource("docs/adr/README.md").text;
    expect(decisions.filter((name) => !list.includes(`](${name})`))).toEqual([]);
  });
});
