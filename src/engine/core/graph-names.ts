import { type GraphPart, type PartKind, titleOf } from "./graph-part.js";

/** Finds what was probably meant. */
export type Nearest = (written: string, candidates: readonly string[]) => string | null;

const namePattern = /^[a-z0-9][a-z0-9_.-]{0,62}$/;
const withArticle: Readonly<Record<PartKind, string>> = {
  inbound: "an inbound",
  router: "a router",
  handler: "a handler",
  outbound: "an outbound",
  reference: "a reference",
};

export function isName(name: unknown): name is string {
  return typeof name === "string" && namePattern.test(name);
}

export const nameMustBe = 'must be 1 to 63 of a-z, 0-9, "_", "." and "-", with a letter or a digit first';

/** Inbounds and outbounds are both connections, and operators call those by their names alone. */
function family(kind: PartKind): string {
  return kind === "inbound" || kind === "outbound" ? "connection" : kind;
}

export function duplicateNames(parts: readonly GraphPart[]): readonly string[] {
  const first = new Map<string, GraphPart>();
  return parts.flatMap((part) => {
    const key = `${family(part.kind)} ${part.name}`;
    const other = first.get(key);
    if (other === undefined) {
      first.set(key, part);
      return [];
    }
    const where = other.file === part.file ? "the same file" : other.file;
    return other.kind === part.kind
      ? [`${titleOf(part)} is also defined in ${where}: rename one of them.`]
      : [`${titleOf(part)} has the name of ${withArticle[other.kind]} in ${where}: rename one of the two connections.`];
  });
}

/** One name in one definition that should be another's. */
interface Mention {
  readonly by: GraphPart;
  readonly field: string;
  readonly name: string;
  readonly kind: PartKind;
}

export function unknownNames(parts: readonly GraphPart[], nearest: Nearest): readonly string[] {
  const namesOf = (kind: PartKind): readonly string[] => parts.flatMap((each) => (each.kind === kind ? each.name : []));
  const known: Readonly<Record<PartKind, ReadonlySet<string>>> = {
    inbound: new Set(namesOf("inbound")),
    router: new Set(namesOf("router")),
    handler: new Set(namesOf("handler")),
    outbound: new Set(namesOf("outbound")),
    reference: new Set(namesOf("reference")),
  };
  return mentionsOf(parts).flatMap((mention) => {
    const { by, field, name, kind } = mention;
    if (known[kind].has(name)) return [];
    const said = `${titleOf(by)}.${field} names "${name}"`;
    const other = (Object.keys(known) as readonly PartKind[]).find((each) => known[each].has(name));
    if (other !== undefined) return [`${said}, which is ${withArticle[other]} and not ${withArticle[kind]}.`];
    const meant = nearest(name, [...known[kind]]);
    const wayOut = meant === null ? `no ${kind} is exported.` : `did you mean "${meant}"?`;
    return [`${said}, and there is no such ${kind}: ${wayOut}`];
  });
}

/** What nobody names is no error: it may be meant for later, or just been taken out of use. */
export function unnamedParts(parts: readonly GraphPart[]): readonly string[] {
  const named = new Set(mentionsOf(parts).map(({ kind, name }) => `${kind} ${name}`));
  const namedBy: Readonly<Record<Exclude<PartKind, "inbound">, string>> = {
    router: "inbound",
    handler: "router",
    outbound: "handler",
    reference: "handler",
  };
  return parts.flatMap((part) => {
    if (part.kind === "inbound" || named.has(`${part.kind} ${part.name}`)) return [];
    return [`${titleOf(part)} is not in use: no ${namedBy[part.kind]} names it.`];
  });
}

function mentionsOf(parts: readonly GraphPart[]): readonly Mention[] {
  return parts.flatMap(mentionsIn);
}

function mentionsIn(by: GraphPart): readonly Mention[] {
  switch (by.kind) {
    case "inbound":
      return [{ by, field: "router", name: by.router, kind: "router" }];
    case "router":
      return by.handlers.map((name) => ({ by, field: "handlers", name, kind: "handler" }));
    case "handler":
      return [
        ...by.outbounds.map((name): Mention => ({ by, field: "outbounds", name, kind: "outbound" })),
        ...by.references.map((name): Mention => ({ by, field: "references", name, kind: "reference" })),
      ];
    case "outbound":
    case "reference":
      return [];
  }
}
