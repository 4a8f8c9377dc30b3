/** A definition as the checks see it: its name, where it is written, and whom it names. */
export type GraphPart = InboundPart | RouterPart | HandlerPart | OutboundPart | ReferencePart;

export type PartKind = GraphPart["kind"];

interface Placed {
  readonly name: string;
  /** The module that exports it, within its folder. */
  readonly file: string;
}

export interface InboundPart extends Placed {
  readonly kind: "inbound";
  readonly router: string;
  /** Where it takes messages from, if that is a place on this machine. */
  readonly takesFrom: Place | null;
}

export interface RouterPart extends Placed {
  readonly kind: "router";
  readonly handlers: readonly string[];
}

export interface HandlerPart extends Placed {
  readonly kind: "handler";
  readonly outbounds: readonly string[];
  readonly references: readonly string[];
}

export interface OutboundPart extends Placed {
  readonly kind: "outbound";
  readonly sendsTo: Place | null;
}

export interface ReferencePart extends Placed {
  readonly kind: "reference";
}

/** Somewhere that one connection may write and another may read. */
export type Place = Port | Folder;

export interface Port {
  readonly kind: "port";
  readonly host: string;
  readonly port: number;
}

export interface Folder {
  readonly kind: "folder";
  readonly path: string;
}

/** The definition in an error: its module first, like the place of a compiler's error. */
export function titleOf({ file, kind, name }: Pick<GraphPart, "file" | "kind" | "name">): string {
  return `${file}: ${kind} ${name}`;
}

/** Addresses that stand for all of a machine's. */
const wildcards = ["", "0.0.0.0", "::", "[::]"];

export function isEverywhere(host: string): boolean {
  return wildcards.includes(host);
}

export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i.test(host);
}

export function sameHost(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase() || (isLoopback(one) && isLoopback(other));
}
