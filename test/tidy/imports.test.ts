import { describe, expect, it } from "vitest";
import { importViolations } from "./import-rules.js";
import { repositoryScripts } from "./source-tree.js";
import { importsOf } from "./syntax.js";

const brokenBy = (path: string, text: string): readonly string[] =>
  importViolations({ path, text }).map((violation) => /\(([a-z-]+)\)$/.exec(violation)?.[1] ?? violation);

describe("the direction of imports", () => {
  it("is kept everywhere in src", () => {
    const sources = repositoryScripts().filter((file) => file.path.startsWith("src/"));
    expect(sources.length).toBeGreaterThan(0);
    expect(sources.flatMap(importViolations)).toEqual([]);
  });

  it.each([
    ["core-stays-pure", "src/election/core/lease.ts", 'import { Store } from "../../store/contract.js";'],
    ["core-stays-pure", "src/election/core/lease.ts", 'import { beat } from "../elector.js";'],
    ["core-stays-pure", "src/election/core/lease.ts", 'import type { Elector } from "../elector.js";'],
    ["core-stays-pure", "src/election/core/lease.ts", 'export { readFile } from "node:fs";'],
    ["core-stays-pure", "src/election/core/deep/lease.ts", 'export * from "../../gate.js";'],
    ["pg-in-its-room", "src/election/elector.ts", 'import { Pool } from "pg";'],
    ["pg-in-its-room", "src/election/elector.ts", 'import type { Pool } from "pg";'],
    ["pg-in-its-room", "src/election/elector.ts", 'export type P = import("pg").Pool;'],
    ["pg-in-its-room", "src/election/elector.ts", 'export const open = () => import("pg");'],
    ["pg-in-its-room", "src/store/contract.ts", 'import { Pool } from "pg";'],
    ["pg-in-its-room", "src/store/memory/store.ts", 'import { type Pool, Client } from "pg";'],
    ["pg-in-its-room", "src/index.ts", 'export { Pool } from "pg";'],
    ["facade-only", "src/server/status.ts", 'import type { Store } from "../store/contract.js";'],
    ["facade-only", "src/cli/status.ts", 'import { open } from "../store/contract.js";'],
    ["stores-by-contract", "src/election/elector.ts", 'import { x } from "../store/postgres/lease.js";'],
    ["stores-by-contract", "src/membership/registry.ts", 'const x = await import("../store/memory/store.js");'],
    ["stores-by-contract", "src/lifecycle/drain.ts", 'import type { X } from "../store/postgres/session.js";'],
    ["stores-by-contract", "src/queue/lane.ts", 'import "../store/memory/store.js";'],
    ["stores-by-contract", "src/store/contract.ts", 'import { x } from "./postgres/lease.js";'],
    ["ships-alone", "src/node.ts", 'import { clock } from "../test/support/clock.js";'],
    ["ships-alone", "src/node.ts", 'import { peer } from "../bench/src/peer.js";'],
    ["no-bench-in-tests", "src/node.test.ts", 'import { peer } from "../bench/src/peer.js";'],
  ])("%s is broken by %s with %s", (rule, path, text) => {
    expect(brokenBy(path, text)).toContain(rule);
  });

  it.each([
    ["src/election/core/lease.ts", 'import { HoldfastError } from "../../errors.js";'],
    ["src/election/core/lease.ts", 'import type { NodeId } from "../../membership/core/node-id.js";'],
    ["src/election/core/lease.test.ts", 'import { it } from "vitest";'],
    ["src/store/postgres/session.ts", 'import { Client } from "pg";'],
    ["src/store/contract.ts", 'import type { ClientBase } from "pg";'],
    ["src/store/contract.ts", 'import { type ClientBase } from "pg";'],
    ["src/index.ts", 'export type { ClientBase } from "pg";'],
    ["src/election/elector.ts", 'import type { Store } from "../store/contract.js";'],
    ["src/node.ts", 'import { createPostgresStore } from "./store/postgres/store.js";'],
    ["src/testing.ts", 'import { createMemoryStore } from "./store/memory/store.js";'],
    ["src/node.test.ts", 'import { clock } from "../test/support/clock.js";'],
  ])("is kept by %s with %s", (path, text) => {
    expect(brokenBy(path, text)).toEqual([]);
  });

  it("is not read from comments and strings", () => {
    expect(
      importsOf({ path: "src/a.ts", text: '// import "pg";\nexport const hint = \'import { Pool } from "pg"\';' }),
    ).toEqual([]);
  });

  it("cannot be hidden behind a file that does not parse", () => {
    expect(() => importsOf({ path: "src/a.ts", text: "import {" })).toThrow("src/a.ts does not parse");
  });
});
