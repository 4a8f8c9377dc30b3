import { posix } from "node:path";
import { type Program, parseSync } from "oxc-parser";
import { lineAt, type SourceFile } from "./source-tree.js";

/** One module that a file imports or re-exports from, statically, dynamically or in a type. */
export interface Import {
  /** The path of the imported file in the repository where the specifier is relative, the specifier itself elsewhere. */
  readonly target: string;
  readonly typeOnly: boolean;
  readonly line: number;
}

/** A node of the syntax tree, as far as the rules look into it. */
export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

/** Throws on a file that does not parse: a rule that silently sees nothing would pass everything. */
export function importsOf(file: SourceFile): readonly Import[] {
  const { program, module } = parse(file);
  const found: Import[] = [];
  const add = (specifier: string, typeOnly: boolean, offset: number): void => {
    found.push({ target: targetOf(file.path, specifier), typeOnly, line: lineAt(file.text, offset) });
  };
  for (const statement of module.staticImports) {
    const typeOnly = statement.entries.length > 0 && statement.entries.every((entry) => entry.isType);
    add(statement.moduleRequest.value, typeOnly, statement.start);
  }
  for (const statement of module.staticExports) {
    const from = statement.entries.find((entry) => entry.moduleRequest !== null)?.moduleRequest;
    if (from)
      add(
        from.value,
        statement.entries.every((entry) => entry.isType),
        statement.start,
      );
  }
  visit(program, (node) => {
    const source = node.type === "ImportExpression" || node.type === "TSImportType" ? node.source : undefined;
    if (isNode(source) && typeof source.value === "string") {
      add(source.value, node.type === "TSImportType", node.start);
    }
  });
  return found;
}

export function parse(file: SourceFile) {
  const result = parseSync(file.path, file.text);
  const [error] = result.errors;
  if (error) throw new Error(`${file.path} does not parse: ${error.message}`);
  return result;
}

/** Visits every node, parents first. */
export function visit(program: Program, look: (node: SyntaxNode) => void): void {
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) {
      for (const item of value) walk(item);
    } else if (isNode(value)) {
      look(value);
      for (const child of Object.values(value)) walk(child);
    }
  };
  walk(program);
}

export function isNode(value: unknown): value is SyntaxNode {
  return typeof value === "object" && value !== null && typeof (value as { type?: unknown }).type === "string";
}

function targetOf(importer: string, specifier: string): string {
  if (!specifier.startsWith(".")) return specifier;
  return posix
    .join(posix.dirname(importer), specifier)
    .replace(/\.js$/, ".ts")
    .replace(/\.mjs$/, ".mts");
}
