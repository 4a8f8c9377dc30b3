import { isTest, lineAt, type SourceFile, type Violation } from "./source-tree.js";
import { isNode, parse, type SyntaxNode, visit } from "./syntax.js";

const suites = ["it", "test", "describe", "suite"];
const leftOut = ["only", "skip", "todo"];
const leftOutAliases = ["fit", "xit", "xtest", "fdescribe", "xdescribe"];
const sleepers = ["setTimeout", "sleep", "delay"];
const longestPauseMs = 100;
const endsSessions = /pg_terminate_backend\(pid\).*from pg_stat_activity/is;

/**
 * A test that is left out, alone or asleep says less than it seems to. `skipIf` and `runIf` stay allowed: they carry their
 * reason, and the runner prints what they leave out. The server is shared: who ends sessions ends those of one's own database.
 */
export function mannerViolations(file: SourceFile): readonly Violation[] {
  if (!isTest(file.path)) return [];
  const { program } = parse(file);
  const constants = numericConstants(file);
  const found: Violation[] = [];
  visit(program, (node) => {
    if (endsSessions.test(textOf(node)) && !textOf(node).includes("current_database()")) {
      found.push(`${file.path}:${lineAt(file.text, node.start)} ends the sessions of other tests`);
    }
    if (node.type !== "CallExpression" || !isNode(node.callee)) return;
    const at = `${file.path}:${lineAt(file.text, node.start)}`;
    const name = leftOutBy(node.callee, argumentsOf(node));
    if (name) found.push(`${at} leaves tests out with ${name}`);
    const pauseMs = pauseOf(node.callee, argumentsOf(node), constants);
    if (pauseMs >= longestPauseMs) found.push(`${at} sleeps for ${pauseMs} ms: wait on an event or on virtual time`);
  });
  return found;
}

function textOf({ type, value }: SyntaxNode): string {
  if (type === "TemplateElement") return (value as { readonly raw: string }).raw;
  return type === "Literal" && typeof value === "string" ? value : "";
}

function leftOutBy(callee: SyntaxNode, args: readonly SyntaxNode[]): string | undefined {
  const chain = chainOf(callee);
  const [root = "", ...modifiers] = chain;
  if (leftOutAliases.includes(root)) return root;
  if (!suites.includes(root)) return undefined;
  const modifier = modifiers.find((name) => leftOut.includes(name));
  if (modifier) return `${root}.${modifier}`;
  const option = args.flatMap(propertiesOf).find(({ name, value }) => leftOut.includes(name) && value === true);
  return option ? `{ ${option.name}: true }` : undefined;
}

/** `it.concurrent.only` as ["it", "concurrent", "only"]; calls in the chain, as of `it.each(...)`, are looked through. */
function chainOf(node: SyntaxNode): readonly string[] {
  if (node.type === "Identifier") return [String(node.name)];
  if (node.type === "MemberExpression" && isNode(node.object) && isNode(node.property)) {
    return [...chainOf(node.object), String(node.property.name ?? node.property.value)];
  }
  if (node.type === "CallExpression" && isNode(node.callee)) return chainOf(node.callee);
  return [];
}

function propertiesOf(node: SyntaxNode): readonly { readonly name: string; readonly value: unknown }[] {
  if (node.type !== "ObjectExpression" || !Array.isArray(node.properties)) return [];
  return node.properties
    .filter(isNode)
    .flatMap(({ key, value }) =>
      isNode(key) && isNode(value) ? [{ name: String(key.name ?? key.value), value: value.value }] : [],
    );
}

/** The delay is the second argument of the global timer and the first of the one that returns a promise: take the longest. */
function pauseOf(callee: SyntaxNode, args: readonly SyntaxNode[], constants: ReadonlyMap<string, number>): number {
  const chain = chainOf(callee);
  const name = chain.at(-1) ?? "";
  const isTimer = sleepers.includes(name) && (chain.length === 1 || ["globalThis", "timers"].includes(chain[0] ?? ""));
  return isTimer ? Math.max(0, ...args.map((arg) => numberOf(arg, constants) ?? 0)) : 0;
}

function numberOf(node: unknown, constants: ReadonlyMap<string, number>): number | undefined {
  if (!isNode(node)) return undefined;
  if (node.type === "Literal" && typeof node.value === "number") return node.value;
  if (node.type === "Identifier") return constants.get(String(node.name));
  if (node.type !== "BinaryExpression") return undefined;
  const left = numberOf(node.left, constants);
  const right = numberOf(node.right, constants);
  if (left === undefined || right === undefined) return undefined;
  if (node.operator === "*") return left * right;
  if (node.operator === "+") return left + right;
  return undefined;
}

function numericConstants(file: SourceFile): ReadonlyMap<string, number> {
  const constants = new Map<string, number>();
  visit(parse(file).program, (node) => {
    if (node.type !== "VariableDeclarator" || !isNode(node.id)) return;
    const value = numberOf(node.init, constants);
    if (value !== undefined) constants.set(String(node.id.name), value);
  });
  return constants;
}

function argumentsOf(node: SyntaxNode): readonly SyntaxNode[] {
  return Array.isArray(node.arguments) ? node.arguments.filter(isNode) : [];
}
