import { isTest, type SourceFile, type Violation } from "./source-tree.js";
import { type Import, importsOf } from "./syntax.js";

/**
 * The direction of imports, as docs/architecture.md draws it, for the rules that depend on where a path leads. What a name
 * alone decides (globals, packages in the pure core, cycles) is Biome's: see biome.jsonc.
 *
 * Tests beside the sources are free to reach across rooms; only the benches stay out of their reach.
 */
interface ImportRule {
  readonly name: string;
  readonly says: string;
  readonly breaks: (path: string, imported: Import) => boolean;
}

const isCore = (path: string): boolean => /^src\/[^/]+\/core\//.test(path);
const isConcreteStore = (path: string): boolean => /^src\/store\/[^/]+\//.test(path);
const isPg = (target: string): boolean => target === "pg" || target.startsWith("pg/");
const compositionRoots = ["src/node.ts", "src/maintenance.ts", "src/testing.ts", "src/demo-database.ts"];

const rules: readonly ImportRule[] = [
  {
    name: "core-stays-pure",
    says: "a core imports only core files and src/errors.ts",
    breaks: (path, { target }) => isCore(path) && !isCore(target) && target !== "src/errors.ts",
  },
  {
    name: "pg-in-its-room",
    says: "only src/store/postgres imports pg; its types may be named in src/store and src/index.ts",
    breaks: (path, { target, typeOnly }) => {
      if (!isPg(target) || path.startsWith("src/store/postgres/")) return false;
      return !(typeOnly && (path.startsWith("src/store/") || path === "src/index.ts"));
    },
  },
  {
    name: "facade-only",
    says: "server and cli see the node's facade, never the store",
    breaks: (path, { target }) => /^src\/(server|cli)\//.test(path) && target.startsWith("src/store/"),
  },
  {
    name: "stores-by-contract",
    says: "only src/node.ts, src/maintenance.ts, src/testing.ts and the stores themselves import a concrete store; others the contract in src/store/*.ts",
    breaks: (path, { target }) => isConcreteStore(target) && !isConcreteStore(path) && !compositionRoots.includes(path),
  },
  {
    name: "ships-alone",
    says: "what ships imports nothing from test, bench, scripts or examples",
    breaks: (_path, { target }) => /^(test|bench|scripts|examples)\//.test(target),
  },
];

/** Tests may import test/support, and no room is closed to them; but nothing in src depends on the benches. */
const rulesOfTests: readonly ImportRule[] = [
  {
    name: "no-bench-in-tests",
    says: "nothing in src imports bench",
    breaks: (_path, { target }) => target.startsWith("bench/"),
  },
];

export function importViolations(file: SourceFile): readonly Violation[] {
  if (!file.path.startsWith("src/")) return [];
  const applied = isTest(file.path) ? rulesOfTests : rules;
  return importsOf(file).flatMap((imported) =>
    applied
      .filter((rule) => rule.breaks(file.path, imported))
      .map((rule) => `${file.path}:${imported.line} imports ${imported.target}: ${rule.says} (${rule.name})`),
  );
}
