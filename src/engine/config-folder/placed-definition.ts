import { type Definition, isDefinition } from "../definition.js";

/** A definition, and where it is. */
export interface PlacedDefinition {
  readonly definition: Definition;
  /** The module that exports it. */
  readonly file: string;
  readonly exportedAs: string;
}

type ModuleExports = Readonly<Record<string, unknown>>;

/** All definitions that modules export, alone or in lists, each once. */
export function exportedDefinitions(modules: ReadonlyMap<string, ModuleExports>): readonly PlacedDefinition[] {
  const seen = new Set<Definition>();
  const placed: PlacedDefinition[] = [];
  for (const [file, exportedAs, value] of exportsOf(modules)) {
    for (const definition of valuesIn(value).filter(isDefinition)) {
      if (seen.has(definition)) continue;
      seen.add(definition);
      placed.push({ definition, file, exportedAs });
    }
  }
  return placed;
}

/** Exports that were meant to be definitions, and are none. */
export function lookalikes(modules: ReadonlyMap<string, ModuleExports>): readonly string[] {
  return [...exportsOf(modules)].flatMap(([file, exportedAs, value]) =>
    valuesIn(value).some(isLookalike)
      ? [
          `${file}: export ${exportedAs} looks like a definition and is none: make it with defineInbound or one of the others.`,
        ]
      : [],
  );
}

function isLookalike(value: unknown): boolean {
  if (typeof value !== "object" || value === null || isDefinition(value)) return false;
  const { name, router, route, handle, transport } = value as ModuleExports;
  const isFunction = typeof route === "function" || typeof handle === "function";
  return typeof name === "string" && (isFunction || typeof transport === "object" || typeof router === "string");
}

function* exportsOf(modules: ReadonlyMap<string, ModuleExports>): Generator<readonly [string, string, unknown]> {
  for (const [file, exports] of modules) {
    // What a CommonJS module exports need not be an object.
    if ((typeof exports !== "object" && typeof exports !== "function") || exports === null) continue;
    for (const [name, value] of Object.entries(exports)) yield [file, name, value];
  }
}

function valuesIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}
