import { type Definition, isDefinition } from "../definition.js";

/** A definition, and where it is. */
export interface PlacedDefinition {
  readonly definition: Definition;
  /** The module that exports it. */
  readonly file: string;
  readonly exportedAs: string;
}

/** By file, as a CommonJS module has them: mostly an object, perhaps anything. */
type Exports = ReadonlyMap<string, unknown>;

/** All definitions that modules export, alone or in lists, each once. */
export function exportedDefinitions(modules: Exports): readonly PlacedDefinition[] {
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
export function lookalikes(modules: Exports): readonly string[] {
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
  const { name, router, route, handle, transport } = value as Readonly<Record<string, unknown>>;
  const isFunction = typeof route === "function" || typeof handle === "function";
  return typeof name === "string" && (isFunction || typeof transport === "object" || typeof router === "string");
}

function* exportsOf(modules: Exports): Generator<readonly [string, string, unknown]> {
  for (const [file, exports] of modules) {
    if (isDefinition(exports)) yield [file, "module.exports", exports];
    else if ((typeof exports === "object" && exports !== null) || typeof exports === "function")
      for (const [name, value] of Object.entries(exports)) yield [file, name, value];
  }
}

function valuesIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}
