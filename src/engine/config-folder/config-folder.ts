import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { nearest } from "../../config/nearest.js";
import { cut } from "../../queue/core/failure-reason.js";
import { checkGraph } from "../core/graph-check.js";
import type { Port } from "../core/graph-part.js";
import type { Definition } from "../definition.js";
import { type Graph, graphOf } from "../graph.js";
import { bundleModules } from "./bundle.js";
import { definitionProblems } from "./definition-check.js";
import { type Evaluated, evaluate } from "./evaluation.js";
import { folderHash } from "./folder-hash.js";
import { modulesOf } from "./folder-modules.js";
import { graphPartOf } from "./graph-parts.js";
import { exportedDefinitions, lookalikes, type PlacedDefinition } from "./placed-definition.js";

export interface ConfigFolderOptions {
  readonly path: string;
  /** What the node itself listens on, which no inbound can. */
  readonly api?: { readonly host: string; readonly port: number } | null | undefined;
  /** How long all modules together may take to be evaluated. The node does nothing else meanwhile: less than its trust. */
  readonly evaluationMs?: number | undefined;
}

export type LoadedFolder = Loaded | Rejected;

export interface Loaded {
  readonly kind: "loaded";
  readonly graph: Graph;
  /** The same on all nodes whose folders say the same. */
  readonly hash: string;
  readonly warnings: readonly string[];
  /** The graph's definitions with the modules that they come from. */
  readonly placed: readonly PlacedDefinition[];
  /** Where in the modules an error of a router or a handler came from, like "adt.ts:12:5". */
  readonly placeOf: (error: unknown) => string | null;
  /** The same of an error that got past everybody; null where what threw it was called by somebody else. */
  readonly placeOfStray: (error: unknown, origin: "exception" | "rejection") => string | null;
}

export interface Rejected {
  readonly kind: "rejected";
  /** One line each, all at once. */
  readonly problems: readonly string[];
  /** Of what was read, also where it cannot run; null where not even that could be found out. */
  readonly hash: string | null;
}

/** Short of the margin that a leader's trust has beside its beats, by default. */
const usualEvaluationMs = 2_000;

/**
 * A folder of modules that define a graph. Every `load` reads all of it anew, and what came out of the last is collected once
 * nobody uses it. Never throws: whatever is wrong is a problem, and leaves what runs as it is.
 */
export class ConfigFolder {
  readonly path: string;
  private readonly api: Port | null;
  private readonly evaluationMs: number;

  constructor({ path, api = null, evaluationMs = usualEvaluationMs }: ConfigFolderOptions) {
    this.path = resolve(path);
    this.api = api === null ? null : { kind: "port", host: api.host, port: api.port };
    this.evaluationMs = evaluationMs;
  }

  async load(): Promise<LoadedFolder> {
    try {
      return await this.read();
    } catch (error) {
      // An export may be a getter, and options a proxy: looking at what modules made can run their code, too.
      return rejected([cut(`The config folder ${this.path} cannot be looked at: ${String(error)}`)], null);
    }
  }

  private async read(): Promise<LoadedFolder> {
    const modules = await modulesOf(this.path);
    if (modules.kind === "rejected") return rejected([modules.problem], null);
    const { root } = modules;
    const bundle = await bundleModules(modules);
    if (bundle.kind === "rejected") return rejected(bundle.problems, null);
    const evaluated = evaluate(root, bundle.text, this.evaluationMs);
    return this.judge(evaluated, folderHash(root, bundle.files));
  }

  private judge(evaluated: Evaluated, hash: string): LoadedFolder {
    const { exports, made, places } = evaluated;
    const placed = exportedDefinitions(exports);
    const own = [...evaluated.problems, ...lookalikes(exports), ...placed.flatMap(definitionProblems)];
    // Names lead nowhere while modules are missing, or fields are not what they should be.
    if (own.length > 0) return rejected(own, hash);
    if (placed.length === 0) return rejected([this.definesNothing(made)], hash);
    const { problems, warnings } = checkGraph(placed.map(graphPartOf), { api: this.api, nearest });
    const hidden = notExported(made, placed);
    if (problems.length > 0) return rejected([...problems, ...hidden], hash);
    return Object.freeze({
      kind: "loaded",
      graph: graphOf(placed.map(({ definition }) => definition)),
      hash,
      warnings: [...warnings, ...hidden, ...missingFiles(placed, this.path)],
      placed,
      placeOf: (error: unknown) => places.of(error),
      placeOfStray: (error: unknown, origin: "exception" | "rejection") =>
        origin === "rejection" || places.areAllOf(error) ? places.of(error) : null,
    });
  }

  private definesNothing(made: readonly Definition[]): string {
    const hint = made.length > 0 ? "what it defines is not exported" : "call defineInbound and the others";
    return `The config folder ${this.path} exports no definition: ${hint}.`;
  }
}

function notExported(made: readonly Definition[], placed: readonly PlacedDefinition[]): readonly string[] {
  const exported = new Set(placed.map(({ definition }) => definition));
  return made
    .filter((definition) => !exported.has(definition))
    .map(
      ({ kind, name }) => `The ${kind} ${String(name)} is defined and not exported, so that the graph is without it.`,
    );
}

/** It may come later, and until then its messages wait. */
function missingFiles(placed: readonly PlacedDefinition[], folder: string): readonly string[] {
  return placed.flatMap(({ definition, file }) => {
    if (definition.kind !== "reference" || definition.from.kind !== "file") return [];
    const path = resolve(folder, definition.from.path);
    return existsSync(path) ? [] : [`${file}: reference ${definition.name} reads ${path}, which is not there.`];
  });
}

function rejected(problems: readonly string[], hash: string | null): Rejected {
  return Object.freeze({ kind: "rejected", problems, hash });
}
