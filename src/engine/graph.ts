import type {
  Definition,
  DefinitionKind,
  HandlerDefinition,
  InboundDefinition,
  OutboundDefinition,
  ReferenceDefinition,
  RouterDefinition,
} from "./definition.js";

/** The definitions of a folder that was found sound, each by its name. Nothing changes it: a reload makes another one. */
export interface Graph {
  readonly inbounds: ReadonlyMap<string, InboundDefinition>;
  readonly routers: ReadonlyMap<string, RouterDefinition>;
  readonly handlers: ReadonlyMap<string, HandlerDefinition>;
  readonly outbounds: ReadonlyMap<string, OutboundDefinition>;
  readonly references: ReadonlyMap<string, ReferenceDefinition>;
}

export function graphOf(definitions: readonly Definition[]): Graph {
  return Object.freeze({
    inbounds: byName(definitions, "inbound"),
    routers: byName(definitions, "router"),
    handlers: byName(definitions, "handler"),
    outbounds: byName(definitions, "outbound"),
    references: byName(definitions, "reference"),
  });
}

function byName<Kind extends DefinitionKind>(definitions: readonly Definition[], kind: Kind) {
  type Wanted = Extract<Definition, { readonly kind: Kind }>;
  const wanted = definitions.filter((definition): definition is Wanted => definition.kind === kind);
  return new Map<string, Wanted>(wanted.map((definition) => [definition.name, definition]));
}
