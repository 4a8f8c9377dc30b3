import type {
  Definition,
  HandlerDefinition,
  InboundDefinition,
  OutboundDefinition,
  ReferenceDefinition,
  RouterDefinition,
} from "../definition.js";

/** The definitions of a config folder by name, checked: every name in them leads to another. */
export interface Graph {
  readonly inbounds: ByName<InboundDefinition>;
  readonly routers: ByName<RouterDefinition>;
  readonly handlers: ByName<HandlerDefinition>;
  readonly outbounds: ByName<OutboundDefinition>;
  readonly references: ByName<ReferenceDefinition>;
}

/** Without a prototype: "constructor" is a name like any other. */
type ByName<Each> = Readonly<Record<string, Each>>;

export function graphOf(definitions: readonly Definition[]): Graph {
  return Object.freeze({
    inbounds: byName(definitions.filter((each) => each.kind === "inbound")),
    routers: byName(definitions.filter((each) => each.kind === "router")),
    handlers: byName(definitions.filter((each) => each.kind === "handler")),
    outbounds: byName(definitions.filter((each) => each.kind === "outbound")),
    references: byName(definitions.filter((each) => each.kind === "reference")),
  });
}

function byName<Each extends Definition>(definitions: readonly Each[]): ByName<Each> {
  const all = Object.create(null) as Record<string, Each>;
  for (const definition of definitions) all[definition.name] = definition;
  return Object.freeze(all);
}
