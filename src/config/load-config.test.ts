import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { everySetting, loadText, refusalOf } from "../../test/support/settings.js";
import { catalogue } from "./catalogue.js";
import { environmentName } from "./environment-name.js";
import { foreignNames } from "./foreign-names.js";
import { loadConfig } from "./load-config.js";
import { isSetting, snakeCase } from "./shape.js";

const directory = mkdtempSync(join(tmpdir(), "holdfast-load-"));
afterAll(() => rmSync(directory, { recursive: true }));

const refused = (toml: string | Uint8Array): string => refusalOf(() => loadText(toml)).message;
const loadFile = (file: string) => loadConfig({ file, env: {}, cwd: directory });

describe("a settings file", () => {
  it("is ./holdfast.toml where none is named, and may be missing", () => {
    const empty = join(directory, "empty");
    mkdirSync(empty);
    expect(loadConfig({ env: {}, cwd: empty })).toMatchObject({
      file: null,
      sources: {},
      config: { backend: "embedded" },
    });
    writeFileSync(join(empty, "holdfast.toml"), "api.port = 1234");
    const loaded = loadConfig({ env: {}, cwd: empty });
    expect(loaded).toMatchObject({ file: join(empty, "holdfast.toml"), sources: { "api.port": "file" } });
    expect(loaded.config.api.port).toBe(1234);
  });

  it("is found by its name, relative to where the command runs, or by HOLDFAST_SERVICE_CONFIG", () => {
    writeFileSync(join(directory, "named.toml"), 'cluster.name = "by name"');
    writeFileSync(join(directory, "other.toml"), 'cluster.name = "by variable"');
    const env = { HOLDFAST_SERVICE_CONFIG: "other.toml" };
    expect(loadConfig({ file: "named.toml", env, cwd: directory }).config.cluster.name).toBe("by name");
    expect(loadConfig({ env, cwd: directory }).config.cluster.name).toBe("by variable");
  });

  it("must exist where it is named", () => {
    const said = `${join(directory, "gone.toml")}: there is no such file.`;
    expect(refusalOf(() => loadFile("gone.toml")).message).toBe(said);
    const env = { HOLDFAST_SERVICE_CONFIG: "gone.toml" };
    expect(refusalOf(() => loadConfig({ env, cwd: directory })).message).toBe(said);
  });

  it("must be a file", () => {
    expect(refusalOf(() => loadFile(".")).message).toBe(`${directory}: is a directory.`);
  });

  it("must be reachable", () => {
    writeFileSync(join(directory, "file"), "");
    const said = `${join(directory, "file/holdfast.toml")}: cannot be read (ENOTDIR).`;
    expect(refusalOf(() => loadFile("file/holdfast.toml")).message).toBe(said);
  });

  it("must be text of a sensible length; a mark at its start is no part of it", () => {
    expect(refused(Buffer.from([0x61, 0xff, 0xfe]))).toMatch(/holdfast\.toml: is not UTF-8 text\.$/);
    expect(refused(`# ${"x".repeat(1_048_576)}`)).toMatch(/holdfast\.toml: is longer than 1 MiB\.$/);
    expect(loadText("\uFEFFapi.port = 1").config.api.port).toBe(1);
  });

  it.each([
    ['[store\nurl = ""', /holdfast\.toml:1:7: .+\.$/],
    ["[api]\nport = 74oo", /holdfast\.toml:2:10: illegal character in numeric literal\.$/],
    ["[api]\nport = 1\nport = 2", /holdfast\.toml:3:1: trying to redefine an already defined table or value\.$/],
  ])("with a syntax error is refused in one line that says where: %j", (toml, said) => {
    expect(refused(toml)).toMatch(said);
    expect(refused(toml)).not.toContain("\n");
  });

  it("tells everything that is wrong at once, a line each", () => {
    const error = refusalOf(() =>
      loadText(
        '[cluster]\nenabled = true\nheartbeat_secs = 1\n[store]\npassword = "x"\npool_size = 1\n[api]\nport = "a"',
        {
          HOLDFAST_LOG_LEVL: "info",
          HOLDFAST_LOG_FORMAT: "xml",
        },
      ),
    );
    const lines = [
      "store.password is a secret and has no place in a file: set HOLDFAST_STORE_PASSWORD in the environment.",
      "HOLDFAST_LOG_LEVL is not a setting. Did you mean HOLDFAST_LOG_LEVEL?",
      "cluster.heartbeat_secs is not a setting. Did you mean cluster.heartbeat_seconds?",
      'api.port must be a whole number from 0 to 65535, not "a".',
      'HOLDFAST_LOG_FORMAT must be one of "json", "pretty", not "xml".',
      "cluster.enabled = true needs a server database that the nodes share: set store.url (HOLDFAST_STORE_URL), which has no value now.",
      "store.pool_size (1) must be at least 2 in a cluster: reads would wait behind a transaction.",
    ];
    expect(error.message.split("\n")).toEqual(lines);
    expect(error.details).toEqual({ problems: lines });
  });

  it("is not judged by what could not be read", () => {
    expect(refused("cluster.enabled = true\nstore.url = 1")).toBe("store.url must be a text.");
    expect(refused("cluster.enabled = true\nstore = 1")).toBe("store must be a section of settings.");
    expect(refused("cluster.heartbeat_seconds = true\ncluster.leader_lease_ttl_seconds = 1")).not.toContain("\n");
  });

  it("spells its keys in snake_case", () => {
    expect(refused("cluster.heartbeatSeconds = 1")).toBe(
      "cluster.heartbeatSeconds is not a setting. Did you mean cluster.heartbeat_seconds?",
    );
  });

  it.each(["constructor", "__proto__", "toString", "hasOwnProperty"])("has no setting called %s", (key) => {
    for (const section of ["", "store.", "cluster.leader_election.", "roles.scheduler."]) {
      expect(refused(`${section}${key} = 1`)).toMatch(
        new RegExp(`^${section}${key} is not a setting\\. Did you mean `),
      );
    }
  });

  it.each(Object.entries(foreignNames))("that speaks of %s is told our name for it", (theirs, ours) => {
    for (const key of [`cluster.${theirs}`, theirs, `cluster.leader_election.${theirs.toUpperCase()}`]) {
      expect(refused(`${key} = 1`)).toBe(`${key} is not a setting here: ours is ${ours}.`);
    }
  });

  it("takes lock keys of 64 bits, and not more", () => {
    const { config } = loadText("[roles.scheduler]\nlock_key = 0x7fff_ffff_ffff_ffff\n[roles.mine-2]\nlock_key = -5");
    expect([...config.lockKeys]).toEqual([
      ["scheduler", 0x7fff_ffff_ffff_ffffn],
      ["mine-2", -5n],
    ]);
    expect(refused("roles.scheduler.lock_key = 0xFFFF_FFFF_FFFF_FFFF")).toContain("must be a whole number of 64 bits");
    expect(refused("roles.Scheduler.lock_key = 1")).toBe(
      'roles.Scheduler must be named by 1 to 63 of the characters a-z, 0-9, "_" and "-".',
    );
  });
});

describe("every section", () => {
  const sections = Object.entries(catalogue).flatMap(([key, entry]) =>
    isSetting(entry) || "kind" in entry ? [] : [[snakeCase(key), Object.keys(entry)] as const],
  );

  it.each([...sections, ["cluster.leader_election", Object.keys(catalogue.cluster.leaderElection)] as const])(
    "[%s] refuses an unknown key and names the nearest of its own",
    (section, keys) => {
      const near = snakeCase(keys[0] ?? "");
      expect(refused(`[${section}]\n${near}x = 1`)).toBe(
        `${section}.${near}x is not a setting. Did you mean ${section}.${near}?`,
      );
    },
  );

  it.each(sections)("[%s] must be a section", (section) => {
    expect(refused(`${section} = true`)).toBe(`${section} must be a section of settings.`);
    expect(refused(`[[${section}]]`)).toBe(`${section} must be a section of settings.`);
  });
});

describe("every setting", () => {
  const inFile = everySetting().filter(({ path, setting }) => !setting.notInFile && !path.includes("[]"));

  it.each(inFile.map(({ path }) => path.replace("<>", "scheduler")))(
    "%s refuses a value of a wrong kind in one line",
    (path) => {
      for (const wrong of ["1979-05-27", "[1]", "{ a = 1 }"]) {
        const said = refused(`${path} = ${wrong}`);
        expect(said).toMatch(new RegExp(`^${path.replaceAll(".", "\\.")} must be .+\\.$`));
      }
    },
  );

  const ranged = inFile.flatMap(({ path, setting }) => {
    const read = setting.read(null);
    const [, min, max] = /from (\S+) to (\S+)$/.exec("mustBe" in read ? read.mustBe : "") ?? [];
    return min === undefined ? [] : [[path, setting, Number(min), Number(max)] as const];
  });

  it("with a range is one of these", () => {
    expect(ranged.length).toBeGreaterThan(15);
  });

  it.each(ranged)("%s keeps its range", (_path, setting, min, max) => {
    for (const inside of [min, max, setting.fallback]) expect(setting.read(inside)).toEqual({ value: inside });
    for (const outside of [min - 0.01, max + 0.01, Number.NaN, Number.POSITIVE_INFINITY, -1]) {
      expect(setting.read(outside)).toHaveProperty("mustBe");
    }
  });

  it.each(everySetting().map(({ path, setting }) => [path, setting] as const))(
    "%s accepts its own default, or must be stated",
    (_path, setting) => {
      const given = typeof setting.fallback === "object" ? null : setting.fallback;
      if (given !== null && !setting.required) expect(setting.read(given)).toEqual({ value: given });
      expect(setting.doc).toMatch(/\.$/);
    },
  );
});

describe("examples/holdfast.toml", () => {
  const path = new URL("../../examples/holdfast.toml", import.meta.url).pathname;
  const text = readFileSync(path, "utf8");

  it("loads", () => {
    const { config } = loadConfig({ file: path, env: { HOLDFAST_STORE_PASSWORD: "x" } });
    expect(config).toMatchObject({ backend: "postgres", cluster: { enabled: true }, primaryRole: "scheduler" });
    expect(config.crons).toHaveLength(1);
    expect(config.lockKeys.get("scheduler" as never)).toBe(0x464f_5247_0001n);
  });

  it("has every setting, commented out or not; of secrets the variable", () => {
    const keys = new Set<string>();
    let section = "";
    for (const line of text.split("\n")) {
      const [, header] = /^\[\[?([a-z_.]+)\]/.exec(line) ?? [];
      if (header !== undefined) section = header;
      const [, key] = /^(?:# )?([a-z_]+) = /.exec(line) ?? [];
      if (key !== undefined) keys.add(`${section}.${key}`);
    }
    const missing = everySetting()
      .map(({ path: name, setting }) => ({ setting, name: name.replace("[]", "").replace("<>", "scheduler") }))
      .filter(({ name, setting }) => !(setting.notInFile ? text.includes(environmentName(name)) : keys.has(name)));
    expect(missing.map(({ name }) => name)).toEqual([]);
  });
});
