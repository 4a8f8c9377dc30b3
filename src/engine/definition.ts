import type { Json } from "../jobs/core/job.js";
import type { InboundTransport, OutboundTransport } from "./connection-transport.js";
import type { EngineMessage, MessageFormat } from "./engine-message.js";
import type { Send } from "./send.js";
import type { WrittenDuration } from "./transport-options.js";

/**
 * What a config folder is made of. Each function takes down what it is given and never throws: the folder is checked as a
 * whole when it is loaded, so that all that is wrong is told at once. Names tie the definitions together.
 */
export type Definition =
  | InboundDefinition
  | RouterDefinition
  | HandlerDefinition
  | OutboundDefinition
  | ReferenceDefinition;

export type DefinitionKind = Definition["kind"];

/** Where messages come in. */
export interface InboundOptions {
  readonly name: string;
  /** The name of the router that gets them. */
  readonly router: string;
  readonly transport: InboundTransport;
  /** "hl7v2" by default: type and control id are read. What is "raw" passes through untouched. */
  readonly format?: MessageFormat | undefined;
  /** The charset of messages that do not name theirs; UTF-8 by default. */
  readonly charset?: string | undefined;
  /** A resend, of the same control id and content, is answered as the first was ("answer", the default), or is one more message ("accept"). */
  readonly duplicates?: "answer" | "accept" | undefined;
  readonly acks?: AckOptions | undefined;
}

/** How an HL7 message is answered. */
export interface AckOptions {
  /** "auto", the default: enhanced for messages that ask for it in MSH-15 or MSH-16, else original. */
  readonly mode?: "auto" | "original" | "enhanced" | undefined;
  /** The answer to a message that cannot be read. It is kept all the same. "AR" by default. */
  readonly malformed?: "AE" | "AR" | undefined;
}

/** What `defineInbound` answers. */
export interface InboundDefinition extends InboundOptions {
  readonly kind: "inbound";
}

/** Where each message goes to. */
export interface RouterOptions<Handlers extends readonly string[] = readonly string[]> {
  readonly name: string;
  /** The names of all handlers that it may route to. */
  readonly handlers: Handlers;
  /** Some of them; none leaves the message unrouted. */
  readonly route: (message: EngineMessage) => readonly NoInfer<Handlers>[number][];
}

/** What `defineRouter` answers. */
export interface RouterDefinition extends RouterOptions {
  readonly kind: "router";
}

/** What becomes of a message: a function of the message, the state and the reference sets, and of nothing else. */
export interface HandlerOptions<
  Outbounds extends readonly string[] = readonly string[],
  References extends readonly string[] = readonly string[],
  Namespaces extends readonly string[] = readonly string[],
> {
  readonly name: string;
  /** The names of all outbounds that it may send to. */
  readonly outbounds: Outbounds;
  /** The names of the reference sets that it reads. */
  readonly references?: References | undefined;
  /** The namespaces of the state that it reads and writes. */
  readonly state?: Namespaces | undefined;
  /** What is to be sent; nothing filters the message. A throw fails it. */
  readonly handle: (
    message: EngineMessage,
    context: HandlerContext<NoInfer<References>[number], NoInfer<Namespaces>[number]>,
  ) => readonly Send<NoInfer<Outbounds>[number]>[];
}

/** What a handler may look at beside its message. */
export interface HandlerContext<Reference extends string = string, Namespace extends string = string> {
  readonly reference: (name: Reference) => ReferenceSet;
  readonly state: (namespace: Namespace) => StateNamespace;
}

/** A reference set as it was last built, the same for the whole message. */
export interface ReferenceSet {
  get(key: string): ReferenceRow | undefined;
  has(key: string): boolean;
  readonly size: number;
}

/** A row of a reference set, by the names of its columns. */
export type ReferenceRow = Readonly<Record<string, Json>>;

/** What handlers remember. A write is seen by what is handled after, and stored by the commit that finishes the message. */
export interface StateNamespace {
  get(key: string): Json | undefined;
  set(key: string, value: Json): void;
  delete(key: string): void;
}

/** What `defineHandler` answers. */
export interface HandlerDefinition extends HandlerOptions {
  readonly kind: "handler";
}

/** Where messages go out. */
export interface OutboundOptions {
  readonly name: string;
  readonly transport: OutboundTransport;
  /** The key of a message's lane, from the message as it is to be sent: only those of one key wait for each other. One lane by default. */
  readonly lane?: ((message: EngineMessage) => string) | undefined;
  /** How many lanes, each with a connection of its own, the keys share; 8 by default. */
  readonly lanes?: number | undefined;
  /**
   * What becomes of a message that was written and not answered: it goes out again, perhaps a second time ("resend", the
   * default); its lane stops until somebody decides ("stop"); or it counts as sent ("skip").
   */
  readonly unconfirmed?: "resend" | "stop" | "skip" | undefined;
  readonly retry?: RetryOptions | undefined;
}

/** How often an outbound tries, and with which pauses. */
export interface RetryOptions {
  /** How often a message is tried before it goes to the dead letters; "forever", the default, holds its lane. */
  readonly attempts?: number | "forever" | undefined;
  /** The first pause; "1s" by default. It doubles, up to `cap`. */
  readonly backoff?: WrittenDuration | undefined;
  /** "1m" by default. */
  readonly cap?: WrittenDuration | undefined;
}

/** What `defineOutbound` answers. */
export interface OutboundDefinition extends OutboundOptions {
  readonly kind: "outbound";
}

/** A table that handlers look things up in. The leader builds it, all nodes read it. */
export interface ReferenceOptions {
  readonly name: string;
  readonly from: ReferenceOrigin;
  /** The column whose value a row is found by. */
  readonly key: string;
  /** How often it is built anew; "5m" by default. */
  readonly every?: WrittenDuration | undefined;
}

/** Paths are read from the config folder. Without a `format` the end of the name tells; it is JSON unless it is ".csv". */
export type ReferenceOrigin =
  | { readonly kind: "file"; readonly path: string; readonly format?: "csv" | "json" | undefined }
  | {
      readonly kind: "sql";
      /** The variable of the environment that holds the database's URL: postgres://... */
      readonly urlFrom: string;
      readonly query: string;
    }
  | {
      readonly kind: "http";
      readonly url: string;
      readonly headers?: Readonly<Record<string, string>> | undefined;
      readonly format?: "csv" | "json" | undefined;
    };

/** What `defineReference` answers. */
export interface ReferenceDefinition extends ReferenceOptions {
  readonly kind: "reference";
}

/** Where messages come in. */
export function defineInbound(options: InboundOptions): InboundDefinition {
  return take("inbound", options);
}

/** Where each message goes to. */
export function defineRouter<const Handlers extends readonly string[]>(
  options: RouterOptions<Handlers>,
): RouterDefinition {
  return take("router", options);
}

/** What becomes of a message. */
export function defineHandler<
  const Outbounds extends readonly string[],
  const References extends readonly string[] = readonly [],
  const Namespaces extends readonly string[] = readonly [],
>(options: HandlerOptions<Outbounds, References, Namespaces>): HandlerDefinition {
  return take("handler", options as HandlerOptions);
}

/** Where messages go out. */
export function defineOutbound(options: OutboundOptions): OutboundDefinition {
  return take("outbound", options);
}

/** A table that handlers look things up in. */
export function defineReference(options: ReferenceOptions): ReferenceDefinition {
  return take("reference", options);
}

const made = new WeakSet<object>();
let witness: ((definition: Definition) => void) | null = null;

/** Whether one of the define functions made it: whatever else a module exports is its own business. */
export function isDefinition(value: unknown): value is Definition {
  return typeof value === "object" && value !== null && made.has(value);
}

/** All that is defined while `run` runs, exported or not. */
export function definitionsMadeBy(run: () => void): readonly Definition[] {
  const seen: Definition[] = [];
  const before = witness;
  witness = (definition) => seen.push(definition);
  try {
    run();
  } finally {
    witness = before;
  }
  return seen;
}

function take<Kind extends DefinitionKind, Options extends object>(kind: Kind, options: Options) {
  const definition = Object.freeze({ ...(frozen(options) as Options), kind });
  made.add(definition);
  witness?.(definition as unknown as Definition);
  return definition;
}

/** A copy of plain data that nobody changes any more; functions, bytes and the like are kept as they are. */
function frozen(value: unknown): unknown {
  if (Array.isArray(value)) return Object.freeze(value.map(frozen));
  if (typeof value !== "object" || value === null) return value;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  return Object.freeze(Object.fromEntries(Object.entries(value).map(([name, each]) => [name, frozen(each)])));
}
