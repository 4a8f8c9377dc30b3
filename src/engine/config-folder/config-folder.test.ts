import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ConfigFiles, type Files, hospital } from "../../../test/support/config-folder.js";
import type { EngineMessage } from "../engine-message.js";
import { ConfigFolder, type ConfigFolderOptions, type Loaded } from "./config-folder.js";

async function load(files: Files, options: Omit<ConfigFolderOptions, "path"> = {}) {
  await using folder = await ConfigFiles.write(files);
  return await new ConfigFolder({ path: folder.path, ...options }).load();
}

async function loaded(files: Files): Promise<Loaded> {
  const outcome = await load(files);
  if (outcome.kind === "rejected") throw new Error(outcome.problems.join("\n"));
  return outcome;
}

async function problemsOf(files: Files, options: Omit<ConfigFolderOptions, "path"> = {}): Promise<readonly string[]> {
  const outcome = await load(files, options);
  return outcome.kind === "rejected" ? outcome.problems : [];
}

describe("a config folder", () => {
  it("gives the graph of all that its modules export, in TypeScript and JavaScript", async () => {
    const { graph, warnings, placed } = await loaded(hospital);
    expect([...graph.inbounds.keys()]).toEqual(["adt-in"]);
    expect(graph.outbounds.get("lab")).toMatchObject({ kind: "outbound", transport: { host: "10.0.0.9" } });
    expect(graph.routers.get("adt")?.route({ type: "ADT^A01" } as EngineMessage)).toEqual(["to-lab"]);
    expect(graph.routers.get("adt")?.route({ type: "ORU^R01" } as EngineMessage)).toEqual([]);
    const [wish] = graph.handlers.get("to-lab")?.handle({ body: Buffer.from("x") } as EngineMessage, {} as never) ?? [];
    expect(wish).toEqual({ outbound: "lab", body: Buffer.from("x"), key: null });
    expect(Object.isFrozen(graph) && Object.isFrozen(graph.outbounds.get("lab"))).toBe(true);
    expect(warnings).toEqual([]);
    expect(placed.map(({ file, exportedAs }) => `${file} ${exportedAs}`)).toEqual([
      "adt.ts adt",
      "adt.ts adtIn",
      "adt.ts toLab",
      "lab.mjs lab",
    ]);
  });

  it("takes lists of definitions, and what is exported twice once", async () => {
    const { graph } = await loaded({
      ...hospital,
      "more.cjs": `
        const { defineOutbound } = require("holdfast/engine");
        exports.labs = [1, 2].map((n) => defineOutbound({ name: "lab-" + n, transport: { kind: "mllp", host: "a", port: n } }));
      `,
      "again.ts": `export * from "./adt.ts"; export { default as also } from "./more.cjs";`,
    });
    expect([...graph.outbounds.keys()]).toEqual(["lab", "lab-1", "lab-2"]);
  });

  it("takes what a CommonJS module is as a whole", async () => {
    const { graph } = await loaded({
      ...hospital,
      "alone.cjs": `module.exports = require("holdfast/engine").defineReference({ name: "alone", key: "id", from: { kind: "file", path: "a.csv" } });`,
      "nothing.cjs": "module.exports = null;",
      "windows.ts":
        "\uFEFFimport { defineReference } from 'holdfast/engine';\r\nexport default [defineReference({ name: 'bom', key: 'id', from: { kind: 'file', path: 'a.csv' } })];\r\n",
      "round.ts": "import { trip } from './trip.ts'; export const round = () => trip;",
      "trip.ts": "import { round } from './round.ts'; export const trip = () => round;",
    });
    expect([...graph.references.keys()]).toEqual(["alone", "bom"]);
  });

  it("bundles packages that are installed where it stands, and keeps Node's own modules", async () => {
    const { graph } = await loaded({
      ...hospital,
      "node_modules/greeting/package.json": `{ "name": "greeting", "version": "1.0.0", "main": "main.js" }`,
      "node_modules/greeting/main.js": `module.exports = { here: require("node:path").basename(__dirname) };`,
      "made.ts": `
        import greeting from "greeting";
        import { basename } from "node:path";
        import words from "./words.json";
        import { defineReference } from "holdfast/engine";
        const own = basename(import.meta.filename) + basename(new URL(import.meta.url).pathname) + typeof import.meta.dirname;
        export const made = defineReference({ name: greeting.here, key: words.key + own, from: { kind: "file", path: "a.csv" } });
      `,
      "words.json": `{ "key": "id " }`,
    });
    expect(graph.references.get("greeting")?.key).toBe("id made.tsmade.tsstring");
  });

  it("sees a change in a module that is imported by another", async () => {
    await using folder = await ConfigFiles.write(hospital);
    const config = new ConfigFolder({ path: folder.path });
    const routes = async (): Promise<unknown> => {
      const outcome = await config.load();
      if (outcome.kind === "rejected") throw new Error(outcome.problems.join("\n"));
      return outcome.graph.routers.get("adt")?.route({ type: "ADT^A01" } as EngineMessage);
    };
    expect(await routes()).toEqual(["to-lab"]);
    await folder.write({ "rules/adt.ts": "export const isAdt = (type: string): boolean => type === 'none';" });
    expect(await routes()).toEqual([]);
  });

  it("leaves alone what is no module of its own", async () => {
    const { graph } = await loaded({
      ...hospital,
      "adt.test.ts": "throw new Error('a test');",
      "adt.d.ts": "this is no TypeScript",
      "_draft.ts": "throw new Error('a draft');",
      ".hidden.js": "throw new Error('hidden');",
      "README.md": "# Read me",
      "deep/other.ts": "throw new Error('imported by nobody');",
    });
    expect([...graph.routers.keys()]).toEqual(["adt"]);
  });

  it("tells where an error of a handler came from", async () => {
    const { graph, placeOf } = await loaded({
      ...hospital,
      "rules/adt.ts": `export const isAdt = (type: string): boolean => {\n  if (type === "") throw new Error("no type");\n  return true;\n};\n`,
    });
    const thrownBy = (run: () => unknown): unknown => {
      try {
        return run();
      } catch (error) {
        return error;
      }
    };
    const error = thrownBy(() => graph.routers.get("adt")?.route({ type: "" } as EngineMessage));
    expect(error).toBeInstanceOf(Error);
    expect(placeOf(error)).toMatch(/^rules\/adt\.ts:2:\d+$/);
    expect(placeOf(new Error("of another"))).toBeNull();
    expect(placeOf("no error")).toBeNull();
  });
});

describe("the hash of a config folder", () => {
  const hashOf = async (files: Files): Promise<string> => (await loaded(files)).hash;

  it("is the same wherever the folder stands, and wherever its packages are installed", async () => {
    const user = { "uses.ts": `import one from "one"; export const it = one;` };
    const one = { "one/package.json": `{ "name": "one" }`, "one/index.js": "module.exports = 1;" };
    const under = (folder: string) =>
      Object.fromEntries(Object.entries(one).map(([name, text]) => [folder + name, text]));
    const direct = await hashOf({ ...hospital, ...user, ...under("node_modules/") });
    expect(direct).toMatch(/^[0-9a-f]{64}$/);
    expect(await hashOf({ ...hospital, ...user, ...under("node_modules/") })).toBe(direct);
    await using above = await ConfigFiles.write(under("node_modules/"));
    await above.write(
      Object.fromEntries(Object.entries({ ...hospital, ...user }).map(([name, text]) => [`in/${name}`, text])),
    );
    expect(await new ConfigFolder({ path: `${above.path}/in` }).load()).toMatchObject({ hash: direct });
  });

  it("is the same where links lead to the files, as in a volume of Kubernetes", async () => {
    const { "adt.ts": adt = "", "rules/adt.ts": rule = "", ...others } = hospital;
    const files: Files = { ...others, "adt.ts": adt.replace("./rules/adt.js", "./rule.ts"), "rule.ts": rule };
    await using plain = await ConfigFiles.write(files);
    await using volume = await ConfigFiles.write({});
    await volume.write(Object.fromEntries(Object.entries(files).map(([name, text]) => [`..2026_11_15/${name}`, text])));
    await symlink("..2026_11_15", join(volume.path, "..data"));
    for (const name of Object.keys(files)) await symlink(join("..data", name), join(volume.path, name));
    const [one, other] = await Promise.all(
      [plain, volume].map(async ({ path }) => await new ConfigFolder({ path }).load()),
    );
    expect(one).toMatchObject({ kind: "loaded" });
    expect(other).toMatchObject({ kind: "loaded", hash: one!.hash });
    await volume.write({ "..2026_11_15/rule.ts": "export const isAdt = (: string) => true;" });
    expect(await new ConfigFolder({ path: volume.path }).load()).toMatchObject({
      problems: [expect.stringMatching(/^rule\.ts:1:\d+: /)],
    });
  });

  it("is there also where the graph cannot run", async () => {
    const { hash } = await load({ "a.ts": "throw new Error();" });
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
  });

  it("changes with every file that is read, and with its name, and with nothing else", async () => {
    const before = await hashOf(hospital);
    const deeper = { ...hospital, "rules/adt.ts": `${hospital["rules/adt.ts"]}// A remark.\n` };
    const { "lab.mjs": lab = "", ...others } = hospital;
    expect(await hashOf(deeper)).not.toBe(before);
    expect(await hashOf({ ...others, "laboratory.mjs": lab })).not.toBe(before);
    expect(await hashOf({ ...hospital, "README.md": "changed", "rules/unused.ts": "export {};" })).toBe(before);
  });
});

describe("a config folder that cannot be loaded", () => {
  it("is told of in one line where there is nothing to load", async () => {
    await using folder = await ConfigFiles.write({ "file.txt": "", "empty/README.md": "" });
    const said = async (path: string) => await new ConfigFolder({ path: `${folder.path}/${path}` }).load();
    const rejected = (path: string, why: string) => ({
      kind: "rejected",
      hash: null,
      problems: [`The config folder ${folder.path}/${path} ${why}`],
    });
    expect(await said("missing")).toEqual(rejected("missing", "is not there: make it, or name another."));
    expect(await said("file.txt")).toEqual(
      rejected("file.txt", "is not a folder: name the one that holds the modules."),
    );
    expect(await said("empty")).toEqual(
      rejected(
        "empty",
        "has no module: put a .ts or .js file into it that exports what defineInbound and the others make.",
      ),
    );
  });

  it.each<[string, Files, readonly (string | RegExp)[]]>([
    [
      "mistakes of syntax, all at once",
      { "a.ts": "export const a: = 1;", "b.js": "\n  export let b = ;" },
      ['a.ts:1:17: Unexpected "=".', 'b.js:2:18: Unexpected ";".'],
    ],
    [
      "what is not there",
      {
        "a.ts": `import x from "nowhere";\nimport y from "./gone.js";\nimport z from "holdfast/queue";\nexport { x, y, z };`,
      },
      [
        'a.ts:1:15: there is no package "nowhere": install it where the folder is, or write "./nowhere" for a file.',
        'a.ts:2:15: there is no module "./gone.js": correct the path.',
        'a.ts:3:15: A config folder imports "holdfast/engine", and nothing else of Holdfast.',
      ],
    ],
    [
      "names that are not exported, also where they would be used by a message only",
      {
        "a.ts": `import { defineInbond, sendTo } from "holdfast/engine";\nexport const route = () => sendTo(defineInbond);`,
        "b.ts": `import { isAdmision } from "./rules/adt.js";\nexport const b = isAdmision;`,
        "rules/adt.ts": "export const isAdmission = 1;",
      },
      [
        'a.ts:1:10: "holdfast/engine" exports no "defineInbond": did you mean "defineInbound"?',
        'a.ts:1:24: "holdfast/engine" exports no "sendTo": did you mean "send"?',
        'b.ts:1:10: "rules/adt.ts" exports no "isAdmision".',
      ],
    ],
    [
      "a module that waits",
      { "a.ts": "const a = await Promise.resolve(1);\nexport { a };" },
      [/^a\.ts:1:11: a config module cannot wait \(top-level await\): it only defines, /],
    ],
    [
      "a file that is no module",
      { "a.ts": `import "./picture.png";`, "picture.png": "x" },
      [/^a\.ts:1:8: Only \.ts, .* files can be imported\.$/],
    ],
    [
      "modules that throw, each of them",
      {
        "a.ts": `import "./deep.ts";\nexport {};`,
        "deep.ts": "const none = null as unknown as { a: 1 };\nexport const x = none.a;",
        "b.mjs": `throw "a text";`,
        "c.cjs": `\n\nnew Error("unused"); require("node:fs").readFileSync("/nowhere/at/all");`,
      },
      [
        /^deep\.ts:2:\d+: the module cannot be loaded: TypeError: Cannot read properties of null/,
        "b.mjs: the module cannot be loaded: a text",
        /^c\.cjs:3:\d+: the module cannot be loaded: Error: ENOENT/,
      ],
    ],
    [
      "what only the engine that runs it finds wrong",
      { "a.ts": "export const a = 1;\n\nexport const word = /(/;" },
      [/^a\.ts:3:21: the module cannot be loaded: SyntaxError: Invalid regular expression/],
    ],
    [
      "objects that are thrown",
      { "a.ts": "throw { toString() { throw new Error(); }, code: 7 };" },
      [/^a\.ts: the module cannot be loaded: .*code: 7/],
    ],
    [
      "exports that throw when they are looked at",
      { "a.cjs": `Object.defineProperty(exports, "a", { enumerable: true, get() { throw new Error("not yet"); } });` },
      [/^The config folder .* cannot be looked at: Error: not yet$/],
    ],
    [
      "what looks like a definition and is none",
      { "a.js": `export const a = { name: "a", router: "b", transport: {} };` },
      ["a.js: export a looks like a definition and is none: make it with defineInbound or one of the others."],
    ],
    [
      "import.meta on a line with a mistake",
      { "a.ts": "export const u = import.meta.url;;;; export const a: = 1;" },
      ['a.ts:1:54: Unexpected "=".'],
    ],
    [
      "nothing that is defined",
      { "a.ts": "export const a = 1;" },
      [/ exports no definition: call defineInbound and the others\.$/],
    ],
    [
      "nothing that is exported",
      {
        "a.ts": `import { defineRouter } from "holdfast/engine"; defineRouter({ name: "a", handlers: [], route: () => [] });`,
      },
      [/ exports no definition: what it defines is not exported\.$/],
    ],
  ])("tells of %s", async (_what, files, said) => {
    const problems = await problemsOf(files);
    expect(problems).toHaveLength(said.length);
    for (const [index, line] of said.entries()) {
      expect(problems[index]).toEqual(typeof line === "string" ? line : expect.stringMatching(line));
    }
  });

  it("tells of a module that never ends, and ends it", async () => {
    expect(await problemsOf({ "a.ts": "for (;;) {}" }, { evaluationMs: 50 })).toEqual([
      "a.ts: the folder takes longer than 0.05 s to load: a module only defines, and computes when a message comes.",
    ]);
  });

  it("leaves what was loaded before as it is", async () => {
    await using folder = await ConfigFiles.write(hospital);
    const config = new ConfigFolder({ path: folder.path });
    const before = await config.load();
    await folder.write({ "lab.mjs": "broken" });
    expect(await config.load()).toMatchObject({ kind: "rejected" });
    expect(
      before.kind === "loaded" && before.graph.routers.get("adt")?.route({ type: "ADT" } as EngineMessage),
    ).toEqual(["to-lab"]);
  });
});

describe("a graph that does not hold together", () => {
  it("is told of line by line, with the module of each", async () => {
    const problems = await problemsOf(
      {
        ...hospital,
        "bad.js": `
          import { defineHandler, defineInbound, defineOutbound, defineRouter } from "holdfast/engine";
          export const a = defineInbound({ name: "a-in", router: "atd", transport: { kind: "mllp", port: 2575 } });
          export const b = defineInbound({ name: "b-in", router: "lab", transport: { kind: "tcp", port: 7400, framing: { kind: "delimiter", delimiter: "x" } } });
          export const c = defineRouter({ name: "adt", handlers: ["to-lob"], route: () => [] });
          export const d = defineOutbound({ name: "adt-in", transport: { kind: "mllp", host: "h", port: 1 } });
          export const e = defineHandler({ name: "echo", outbounds: ["loop"], handle: () => [] });
          export const f = defineOutbound({ name: "loop", transport: { kind: "mllp", host: "localhost", port: 4000 } });
          export const g = defineRouter({ name: "round", handlers: ["echo"], route: () => [] });
          export const h = defineInbound({ name: "round-in", router: "round", transport: { kind: "mllp", port: 4000 } });
        `,
      },
      { api: { host: "127.0.0.1", port: 7400 } },
    );
    expect(problems).toEqual([
      "bad.js: router adt is also defined in adt.ts: rename one of them.",
      "bad.js: outbound adt-in has the name of an inbound in adt.ts: rename one of the two connections.",
      'bad.js: inbound a-in.router names "atd", and there is no such router: did you mean "adt"?',
      'bad.js: inbound b-in.router names "lab", which is an outbound and not a router.',
      'bad.js: router adt.handlers names "to-lob", and there is no such handler: did you mean "to-lab"?',
      "bad.js: inbound a-in listens on port 2575, which inbound adt-in (adt.ts) has already: choose another.",
      "bad.js: inbound b-in listens on port 7400, which the node's API has already: choose another.",
      "bad.js: inbound round-in gets back what it took in (round-in -> round -> echo -> loop -> round-in), for ever: send it elsewhere.",
    ]);
  });

  it("may have parts that are not in use, and says so", async () => {
    const { warnings } = await loaded({
      ...hospital,
      "spare.ts": `
        import { defineHandler, defineOutbound, defineReference, defineRouter } from "holdfast/engine";
        export const a = defineHandler({ name: "spare", outbounds: [], handle: () => [] });
        export const b = defineOutbound({ name: "spare-out", transport: { kind: "mllp", host: "h", port: 1 } });
        export const c = defineReference({ name: "wards", key: "id", from: { kind: "file", path: "a.csv" } });
        defineRouter({ name: "forgotten", handlers: [], route: () => [] });
      `,
    });
    expect(warnings).toEqual([
      "spare.ts: handler spare is not in use: no router names it.",
      "spare.ts: outbound spare-out is not in use: no handler names it.",
      "spare.ts: reference wards is not in use: no handler names it.",
      "The router forgotten is defined and not exported, so that the graph is without it.",
      expect.stringMatching(/^spare\.ts: reference wards reads \/.*\/a\.csv, which is not there\.$/),
    ]);
  });

  it("says of a name that is not found whether it was only not exported", async () => {
    const { "lab.mjs": lab = "", ...others } = hospital;
    expect(await problemsOf({ ...others, "lab.mjs": String(lab).replace("export const", "const") })).toEqual([
      'adt.ts: handler to-lab.outbounds names "lab", and there is no such outbound: no outbound is exported.',
      "The outbound lab is defined and not exported, so that the graph is without it.",
    ]);
  });
});
