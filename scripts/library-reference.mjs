/**
 * Renders docs/reference/library.md from the sources of each entry point that package.json exports: what it gives, as it is
 * declared, and what its comment says; scripts/reference.mjs writes it. TypeScript 7 has no API that tools could ask, so
 * the declarations are read as syntax, which is enough because every one that is exported states its types.
 */
import { posix } from "node:path";
import { parseSync } from "oxc-parser";

/** `read` answers with the text of a file of the repository. */
export function renderLibrary(read, { note, table }) {
  const modules = createModules(read);
  const entries = entryPoints(JSON.parse(read("package.json")));
  const sections = entries.map(({ name, path }) => renderEntry(modules, name, path, table));
  return `${note}

# Library

What each entry point of the package gives, as it is declared. Of a class only what it is for is shown; whatever else
can be reached in it belongs to Holdfast itself, and changes without notice. \`Tx\` is what a fenced function gets: a \`pg\`
client, unless the store is one of \`holdfast/testing\`.

${sections.join("\n\n")}
`;
}

/** Each subpath with the source that its types are made from. */
function entryPoints({ name, exports }) {
  return Object.entries(exports).flatMap(([subpath, target]) => {
    if (target.types === undefined) return [];
    const path = target.types.replace("./dist/", "src/").replace(".d.ts", ".ts");
    return [{ name: posix.join(name, subpath), path }];
  });
}

function renderEntry(modules, name, path, table) {
  const module = modules.at(path);
  const given = module.exported().map((each) => modules.find(path, each));
  const anchors = anchorsOf(given.map((found) => headingOf(name, found)));
  const rows = given.map((found, index) => [
    `[\`${found.name}\`](#${anchors[index]})`,
    found.kind,
    firstSentence(found),
  ]);
  const shown = given.map((found) => renderExport(modules, name, found));
  const about = module.header.replace(/^`[^`]*`: /, "");
  return [`## ${name}`, sentenceCase(about), table(["name", "kind", "meaning"], rows), ...shown].join("\n\n");
}

function renderExport(modules, entry, found) {
  const code = `\`\`\`ts\n${declarationOf(modules, found)}\n\`\`\``;
  return [`### ${headingOf(entry, found)}`, found.doc, code].join("\n\n");
}

/** With its entry point: two of them may give the same name. */
const headingOf = (entry, { name }) => `${entry}: ${name}`;

/** As GitHub names headings: in small letters, and numbered where two are the same by that. */
function anchorsOf(headings) {
  const seen = new Map();
  return headings.map((heading) => {
    const plain = heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, "")
      .replaceAll(" ", "-");
    const count = seen.get(plain) ?? 0;
    seen.set(plain, count + 1);
    return count === 0 ? plain : `${plain}-${count}`;
  });
}

function firstSentence({ name, doc, path }) {
  if (doc === "")
    throw new Error(`${path}: ${name} is exported by the package, and has no comment that says what it is.`);
  const [first] = doc.replaceAll("\n", " ").split(/(?<=[.:])\s+(?=[A-Z`])/);
  return first;
}

const sentenceCase = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

/** The modules of the repository, parsed once each. */
function createModules(read) {
  const known = new Map();
  const at = (path) => {
    if (!known.has(path)) known.set(path, parseModule(path, read(path)));
    return known.get(path);
  };
  /** What a name of a module stands for, wherever it is declared. */
  const find = (path, name) => {
    const module = at(path);
    const own = module.declarations.get(name);
    if (own !== undefined) {
      const target = module.aliased(own);
      if (target === null) return { name, path, ...own };
      const origin = find(target.path, target.name);
      return { ...origin, name, doc: own.doc === "" ? origin.doc : own.doc };
    }
    const from = module.sources.get(name);
    if (from === undefined) throw new Error(`${path} does not declare ${name}, and does not say where it is from.`);
    return { ...find(from.path, from.name), name };
  };
  return { at, find };
}

function parseModule(path, text) {
  const { program, comments, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path} does not parse: ${errors[0].message}`);
  const docBefore = (node) => docOf(text, comments, node);
  const declarations = new Map();
  const exported = [];
  const sources = new Map();
  const namespaces = new Map();
  const file = (specifier) => posix.join(posix.dirname(path), specifier).replace(/\.js$/, ".ts");
  for (const statement of program.body) {
    const { type, source, specifiers = [], declaration } = statement;
    if (type === "ImportDeclaration" && source.value.startsWith(".")) {
      for (const { imported, local } of specifiers) {
        if (imported === undefined) namespaces.set(local.name, file(source.value));
        else sources.set(local.name, { path: file(source.value), name: imported.name });
      }
    }
    if (type === "ExportNamedDeclaration") {
      for (const { local, exported: as } of specifiers) {
        exported.push(as.name);
        if (source !== null) sources.set(as.name, { path: file(source.value), name: local.name });
      }
    }
    const declared = type === "ExportNamedDeclaration" ? declaration : statement;
    for (const { name, kind, node } of declaredBy(declared)) {
      if (declared !== statement) exported.push(name);
      const earlier = declarations.get(name);
      // Of a function with overloads, what it is called by are the first ones.
      if (earlier?.kind === "function") earlier.nodes.push(node);
      else declarations.set(name, { kind, nodes: [node], doc: docBefore(statement), text, comments });
    }
  }
  /** `type X<T> = other.X<T>` is that X, under the name that it has here. */
  const aliased = ({ kind, nodes: [node] }) => {
    const target = kind === "type" ? node.typeAnnotation.typeName : undefined;
    if (target?.type !== "TSQualifiedName" || !namespaces.has(target.left.name)) return null;
    return { path: namespaces.get(target.left.name), name: target.right.name };
  };
  const header = docOf(text, comments, program.body[0]);
  return { declarations, sources, aliased, header, exported: () => [...new Set(exported)].sort(byName) };
}

const byName = (one, other) => one.localeCompare(other, "en");

const kinds = {
  FunctionDeclaration: "function",
  TSDeclareFunction: "function",
  ClassDeclaration: "class",
  TSInterfaceDeclaration: "interface",
  TSTypeAliasDeclaration: "type",
};

function declaredBy(node) {
  if (node === null) return [];
  if (node.type === "VariableDeclaration") {
    return node.declarations.map((each) => ({ name: each.id.name, kind: "constant", node: each }));
  }
  const kind = kinds[node.type];
  return kind === undefined ? [] : [{ name: node.id.name, kind, node }];
}

/** The comment right before a node, without its stars. Empty where there is none. */
function docOf(text, comments, node) {
  const comment = comments.findLast(({ type, end }) => type === "Block" && end <= node.start);
  if (comment === undefined || !comment.value.startsWith("*")) return "";
  // A line for the linter may stand between them.
  const between = text.slice(comment.end, node.start).replaceAll(/^\s*\/\/.*$/gm, "");
  if (between.trim() !== "") return "";
  const lines = comment.value
    .slice(1)
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, "").trimEnd());
  return lines.join("\n").trim();
}

function declarationOf(modules, found) {
  const { kind, nodes, text } = found;
  if (kind === "class") return classOf(modules, found);
  if (kind === "constant") return constantOf(found);
  if (kind !== "function") return text.slice(nodes[0].start, nodes[0].end);
  const signatures = nodes.length > 1 ? nodes.filter(({ body }) => !body) : nodes;
  return signatures.map((node) => signatureOf(text, node)).join("\n");
}

function constantOf({ name, path, nodes: [{ id, init }], text }) {
  const type = id.typeAnnotation?.typeAnnotation ?? init.typeAnnotation;
  if (type === undefined) throw new Error(`${path}: the exported constant ${name} does not state its type.`);
  return `const ${name}: ${text.slice(type.start, type.end)};`;
}

/** Without its body. */
function signatureOf(text, node) {
  const { body } = node.value ?? node;
  const end = body ? body.start : node.end;
  return `${text
    .slice(node.start, end)
    .trim()
    .replace(/^async /, "")
    .replace(/;$/, "")};`;
}

/** Its head, and what is documented of its members, those that it inherits from a class of ours too. */
function classOf(modules, found) {
  const { name, nodes, text } = found;
  const [{ body, id }] = nodes;
  const head = `class ${name}${text.slice(id.end, body.start).trimEnd()} {`;
  const members = membersOf(modules, found).map(({ doc, signature }) => `${indented(doc)}\n  ${signature}`);
  return members.length === 0 ? `${head}}` : [head, members.join("\n\n"), "}"].join("\n");
}

function membersOf(modules, { path, nodes: [node], text, comments }) {
  const own = node.body.body.flatMap((member) => {
    const doc = docOf(text, comments, member);
    const isHidden = member.accessibility === "private" || member.key?.type === "PrivateIdentifier";
    if (isHidden || doc === "" || doc.endsWith("@internal")) return [];
    return [{ doc, signature: memberOf(text, member, path) }];
  });
  const base = node.superClass?.name;
  const from = base === undefined ? undefined : modules.at(path).sources.get(base);
  return from === undefined ? own : [...own, ...membersOf(modules, modules.find(from.path, from.name))];
}

function memberOf(text, member, path) {
  if (member.type === "MethodDefinition" || member.type === "TSAbstractMethodDefinition") {
    const signature = signatureOf(text, member).replace(/^(static )?async /, "$1");
    if (member.kind === "constructor" || member.value.returnType !== null) return signature;
    throw new Error(`${path}: the method ${member.key.name} of an exported class does not state what it returns.`);
  }
  const { key, typeAnnotation, value } = member;
  if (typeAnnotation !== null) {
    const end = value === null ? member.end : typeAnnotation.end;
    return `${text.slice(member.start, end).replace(/;$/, "")};`;
  }
  if (value?.type !== "NewExpression") throw new Error(`${path}: the field ${key.name} does not state its type.`);
  return `readonly ${key.name}: ${value.callee.name};`;
}

function indented(doc) {
  const lines = doc.split("\n");
  if (lines.length === 1) return `  /** ${doc} */`;
  return ["  /**", ...lines.map((line) => `   * ${line}`.trimEnd()), "   */"].join("\n");
}
