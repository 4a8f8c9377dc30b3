import { createRequire } from "node:module";
import { join } from "node:path";
import { inspect } from "node:util";
import { Script } from "node:vm";
import * as engine from "../../engine.js";
import { cut } from "../../queue/core/failure-reason.js";
import { boundedCall, isOverdue } from "../bounded-call.js";
import { type Definition, definitionsMadeBy } from "../definition.js";
import { SourcePlaces } from "./source-place.js";

/** What the modules of a bundle export, by file, and what was wrong with those that could not be evaluated. */
export interface Evaluated {
  readonly exports: ReadonlyMap<string, unknown>;
  /** Also what no module exports. */
  readonly made: readonly Definition[];
  readonly problems: readonly string[];
  readonly places: SourcePlaces;
}

type BundleFunction = (require: (name: string) => unknown, exports: { modules?: Modules }) => void;
type Modules = Readonly<Record<string, () => unknown>>;

/**
 * Evaluates a bundle apart from Node's own modules, which are never let go of: once nobody holds what comes out of this, all
 * of it is collected. Each module has a turn of its own, so that one that throws does not hide what is wrong with the next.
 */
export function evaluate(root: string, text: string, boundMs: number): Evaluated {
  const bundle = join(root, "[config folder]");
  const places = new SourcePlaces({ bundle, root, text });
  const exports = new Map<string, unknown>();
  const problems = new Set<string>();
  const deadline = performance.now() + boundMs;
  /** Whether the next may have its turn. */
  const attempt = (file: string, run: () => unknown): boolean => {
    try {
      // A module that never ends would hold up the node, and cost it its leadership.
      exports.set(file, boundedCall(run, deadline - performance.now()));
    } catch (error) {
      const isLate = isOverdue(error);
      problems.add(isLate ? tooSlow(file, boundMs) : thrown(file, error, places));
      return !isLate;
    }
    return true;
  };
  const made = definitionsMadeBy(() => {
    const modules = modulesIn(bundle, root, text);
    if (modules instanceof Error) problems.add(thrown("The folder", modules, places));
    else Object.entries(modules).every(([file, run]) => attempt(file, run));
  });
  return { exports, made, problems: [...problems], places };
}

/** What would go on when a router or a handler has returned; its failure would be nobody's. */
const asynchronous = ["fetch", "setTimeout", "setInterval", "setImmediate"] as const;

function refusal(name: (typeof asynchronous)[number]): () => never {
  return () => {
    throw new Error(
      `${name} is asynchronous, and nobody would wait for it: what comes from outside belongs into a reference`,
    );
  };
}

/** An error where the text cannot be compiled: a regular expression, say, which nobody looked into before. */
function modulesIn(bundle: string, root: string, text: string): Modules | Error {
  const wrapped = compiled(bundle, text);
  if (wrapped instanceof Error) return wrapped;
  const requireNative = createRequire(join(root, "folder.cjs"));
  const require = (name: string): unknown => (name === "holdfast/engine" ? engine : requireNative(name));
  const exports: { modules?: Modules } = {};
  (wrapped.runInThisContext() as (...globals: readonly unknown[]) => BundleFunction)(
    ...asynchronous.map((name) => refusal(name)),
  )(require, exports);
  return exports.modules ?? {};
}

function compiled(bundle: string, text: string): Script | Error {
  try {
    // On the first line, so that the lines are those of the source map. The comment at the end of the text needs its own.
    return new Script(`(function (${asynchronous.join()}) { return function (require, exports) {${text}\n} })`, {
      filename: bundle,
    });
  } catch (error) {
    return error as Error;
  }
}

function tooSlow(file: string, boundMs: number): string {
  return `${file}: the folder takes longer than ${boundMs / 1000} s to load: a module only defines, and computes when a message comes.`;
}

function thrown(file: string, error: unknown, places: SourcePlaces): string {
  return cut(`${places.of(error) ?? file}: the module cannot be loaded: ${reasonOf(error)}`);
}

/** Anything can be thrown, also what cannot be read. */
function reasonOf(error: unknown): string {
  if (typeof error === "string") return error;
  return error instanceof Error ? `${error.name}: ${error.message}` : inspect(error, { depth: 1, getters: false });
}
