import { lineAt, type SourceFile } from "./source-tree.js";
import { isNode, parse, type SyntaxNode } from "./syntax.js";

/** A function of a module, a method of a class, or what a module does when it is loaded. */
export interface Unit {
  readonly path: string;
  readonly name: string;
  /** The class of a method. */
  readonly owner: string | null;
  readonly isModule: boolean;
  /** Outside writes that are not within `guardedWrite`, and guards that are none. */
  readonly writes: readonly { readonly line: number; readonly what: string }[];
  readonly references: readonly Reference[];
}

/** A name that is called or handed on: by itself, or as a member of something, `isOwn` where that is `this`. */
export interface Reference {
  readonly name: string;
  readonly isMember: boolean;
  readonly isOwn: boolean;
}

/** Of sockets, requests, open files, SFTP sessions, and databases; and of node:fs, however it is imported. */
const writing = `
  write end flushHeaders pipe pipeline writev send
  writeFile appendFile createWriteStream copyFile cp rename symlink truncate ftruncate unlink rm rmdir mkdir utimes chmod chown
  put fastPut append posixRename rcopy ext_openssh_rename ext_openssh_hardlink
  run execute query commit
`
  .trim()
  .split(/\s+/)
  .flatMap((name) => [name, `${name}Sync`]);
/** Words that are often the name of something else: they write where they are called. */
const writingCalls = ["link", "linkSync"];
const writingGlobals = ["fetch"];
/** `send` is also what a destination itself is asked to do, and `get` of a request is one that is sent at once. */
const writingImports: Readonly<Record<string, readonly string[]>> = {
  "node:fs": [...writing, ...writingCalls],
  "node:fs/promises": [...writing, ...writingCalls],
  "node:http": ["get"],
  "node:https": ["get"],
  "node:stream": ["pipeline"],
  "node:stream/promises": ["pipeline"],
};
const guardModule = /(^|\/)guarded-write\.js$/;

interface Imported {
  readonly writers: ReadonlySet<string>;
  readonly guards: ReadonlySet<string>;
}

export function destinationUnits(file: SourceFile): readonly Unit[] {
  const body = nodesOf(parse(file).program.body);
  const imported = importedBy(body);
  const rest: SyntaxNode[] = [];
  const units: Unit[] = [];
  for (const statement of body) {
    const declared = isNode(statement.declaration) ? statement.declaration : statement;
    if (declared.type === "FunctionDeclaration")
      units.push(unitOf(file, imported, nameOf(declared.id), null, [declared]));
    else if (declared.type === "ClassDeclaration") units.push(...methodsOf(file, imported, declared));
    else if (declared.type === "VariableDeclaration") {
      for (const { id, init } of nodesOf(declared.declarations)) {
        if (isNode(init) && isFunction(init)) units.push(unitOf(file, imported, nameOf(id), null, [init]));
        else if (isNode(init)) rest.push(init);
      }
    } else if (!statement.type.startsWith("TS") && statement.type !== "ImportDeclaration") rest.push(statement);
  }
  return [...units, { ...unitOf(file, imported, "", null, rest), isModule: true }];
}

/** A constructor goes by the name of its class: `new` is what calls it, and fields are set with it. */
function methodsOf(file: SourceFile, imported: Imported, declared: SyntaxNode): readonly Unit[] {
  const owner = nameOf(declared.id);
  const members = isNode(declared.body) ? nodesOf(declared.body.body) : [];
  const isMethod = (member: SyntaxNode): boolean =>
    (member.type === "MethodDefinition" && member.kind !== "constructor") ||
    (member.type === "PropertyDefinition" && isNode(member.value) && isFunction(member.value));
  const methods = members
    .filter(isMethod)
    .map((member) => unitOf(file, imported, nameOf(member.key), owner, [member.value]));
  const made = members.filter((member) => !isMethod(member)).map(({ value, body }) => value ?? body);
  return [...methods, { ...unitOf(file, imported, owner, owner, made) }];
}

function unitOf(
  file: SourceFile,
  imported: Imported,
  name: string,
  owner: string | null,
  roots: readonly unknown[],
): Unit {
  const writes: { line: number; what: string }[] = [];
  const references: Reference[] = [];
  const tell = (node: SyntaxNode, what: string): void => {
    writes.push({ line: lineAt(file.text, node.start), what });
  };
  const walk = (value: unknown, isGuarded: boolean): void => {
    if (Array.isArray(value)) {
      for (const item of value) walk(item, isGuarded);
      return;
    }
    if (!isNode(value) || value.type.startsWith("TSType") || value.type === "TSInterfaceDeclaration") return;
    const guard = guardCallOf(value, imported);
    if (guard !== null) {
      if (guard.problem !== null) tell(value, guard.problem);
      walk(guard.rest, isGuarded);
      // The effect itself runs in the turn in which the guard is asked; a function within it runs whenever it likes.
      if (guard.effect !== null) walk(guard.effect.body, true);
      return;
    }
    const seen = nameUsedBy(value, imported);
    if (seen !== null && !isGuarded) {
      if (seen.isWrite) tell(value, `writes to the outside by ${seen.name} and not within guardedWrite`);
      references.push(seen);
    }
    if (defines(value, "mayWrite")) tell(value, "makes up a guard of its own");
    const inner = isGuarded && !isFunction(value);
    for (const [key, child] of Object.entries(value)) {
      if (!isNameOnly(value, key)) walk(child, inner);
    }
  };
  walk(roots, false);
  return { path: file.path, name, owner, isModule: false, writes, references };
}

interface GuardCall {
  readonly effect: SyntaxNode | null;
  readonly rest: readonly unknown[];
  readonly problem: string | null;
}

function guardCallOf(node: SyntaxNode, { guards }: Imported): GuardCall | null {
  if (node.type !== "CallExpression" || !guards.has(nameOf(node.callee))) return null;
  const [guard, effect] = nodesOf(node.arguments);
  const name = guard?.type === "MemberExpression" ? nameOf(guard.property) : nameOf(guard);
  if (name !== "guard")
    return { effect: null, rest: [effect], problem: "guards a write by something else than its guard" };
  if (effect?.type !== "ArrowFunctionExpression" || effect.async === true) {
    const problem = "has guardedWrite run something else than a plain arrow function, which could write later";
    return { effect: null, rest: [effect], problem };
  }
  return { effect, rest: [], problem: null };
}

function nameUsedBy(node: SyntaxNode, imported: Imported): (Reference & { readonly isWrite: boolean }) | null {
  const used = { isMember: false, isOwn: false };
  if (node.type === "Identifier") {
    const name = nameOf(node);
    return { ...used, name, isWrite: imported.writers.has(name) || writingGlobals.includes(name) };
  }
  if (node.type === "CallExpression") {
    const name = calledBy(node);
    const isWrite = createsFile(node) || (isMemberCall(node) && writingCalls.includes(name));
    return isWrite ? { ...used, name, isWrite } : null;
  }
  if (node.type === "MemberExpression") {
    const isOwn = isNode(node.object) && node.object.type === "ThisExpression";
    const name = nameOf(node.property);
    // What a class has of that name is looked into; all else of that name writes.
    return { name, isMember: true, isOwn, isWrite: !isOwn && writing.includes(name) };
  }
  if (node.type !== "ObjectPattern") return null;
  const taken = nodesOf(node.properties).map(({ key }) => nameOf(key));
  const name = taken.find((key) => writing.includes(key) && key !== "send");
  return name === undefined ? null : { ...used, name, isWrite: true };
}

/** `open(path, "wx")`, of whatever kind of file: it is there from then on. */
function createsFile(call: SyntaxNode): boolean {
  const flags = nodesOf(call.arguments)[1]?.value;
  return calledBy(call) === "open" && typeof flags === "string" && /[wa+]/.test(flags);
}

/** `text.replace(/a/, "b")` shares its name with what replaces a file. */
function isOfText(call: SyntaxNode): boolean {
  return isMemberCall(call) && calledBy(call) === "replace" && nodesOf(call.arguments)[0]?.regex !== undefined;
}

function isMemberCall({ callee }: SyntaxNode): boolean {
  return isNode(callee) && callee.type === "MemberExpression";
}

function calledBy({ callee }: SyntaxNode): string {
  return nameOf(isNode(callee) && callee.type === "MemberExpression" ? callee.property : callee);
}

function defines(node: SyntaxNode, name: string): boolean {
  const isMember = ["Property", "MethodDefinition", "PropertyDefinition"].includes(node.type);
  return isMember && nameOf(node.key) === name;
}

/** A name that stands for no value: of a property, a parameter's key, a type. */
function isNameOnly(node: SyntaxNode, key: string): boolean {
  if (key === "typeAnnotation" || key === "typeArguments" || key === "typeParameters" || key === "returnType")
    return true;
  if (node.type === "MemberExpression") return key === "property" && node.computed !== true;
  if (node.type === "CallExpression" && isOfText(node)) return key === "callee";
  return key === "key" && node.computed !== true;
}

function importedBy(body: readonly SyntaxNode[]): Imported {
  const writers = new Set<string>();
  const guards = new Set<string>();
  for (const { type, source, specifiers } of body) {
    if (type !== "ImportDeclaration" || !isNode(source)) continue;
    const from = String(source.value);
    for (const { local, imported } of nodesOf(specifiers)) {
      const name = nameOf(imported);
      if (writingImports[from]?.includes(name)) writers.add(nameOf(local));
      if (guardModule.test(from) && name === "guardedWrite") guards.add(nameOf(local));
    }
  }
  return { writers, guards };
}

function isFunction({ type }: SyntaxNode): boolean {
  return ["ArrowFunctionExpression", "FunctionExpression", "FunctionDeclaration"].includes(type);
}

function nodesOf(value: unknown): readonly SyntaxNode[] {
  return Array.isArray(value) ? value.filter(isNode) : [];
}

/** Of an identifier, or of a text in its place. */
function nameOf(node: unknown): string {
  const name = isNode(node) ? (node.name ?? node.value) : undefined;
  return typeof name === "string" ? name : "";
}
