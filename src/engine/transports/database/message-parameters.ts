import type { OutsideParameter } from "../../../store/outside-contract.js";
import type { Delivery } from "../transport.js";

/** What a parameter of a statement is for a message. */
export type MessageParameter = (delivery: Delivery) => OutsideParameter;

const known: Readonly<Record<string, MessageParameter>> = {
  body: ({ body }) => body,
  text: ({ body }) => body.toString("utf8"),
  key: ({ idempotencyKey }) => idempotencyKey,
  id: ({ headers }) => headers.id ?? null,
  type: ({ headers }) => headers.type ?? null,
  control_id: ({ headers }) => headers.control_id ?? null,
  connection: ({ headers }) => headers.connection ?? null,
  outbound: ({ headers }) => headers.outbound ?? null,
  epoch: ({ epoch }) => String(epoch),
  attempt: ({ attempt }) => String(attempt),
};

const jsonPrefix = "json.";

/** Null where there is no such parameter. */
export function messageParameter(name: string): MessageParameter | null {
  if (name.startsWith(jsonPrefix)) return (delivery) => fieldOf(delivery, name.slice(jsonPrefix.length));
  return Object.hasOwn(known, name) ? (known[name] ?? null) : null;
}

/** Said of a message from which no parameters can be made. */
export class NoParameters extends Error {}

/** The values of a statement's parameters, in their order. The body is read as JSON once. */
export function parametersOf(names: readonly string[], delivery: Delivery): readonly OutsideParameter[] {
  return names.map((name) => messageParameter(name)?.(delivery) ?? null);
}

function fieldOf(delivery: Delivery, field: string): OutsideParameter {
  const value = jsonOf(delivery)[field];
  if (value === undefined || value === null) return null;
  return typeof value === "string" ? value : JSON.stringify(value);
}

const read = new WeakMap<Delivery, Readonly<Record<string, unknown>>>();

function jsonOf(delivery: Delivery): Readonly<Record<string, unknown>> {
  const before = read.get(delivery);
  if (before !== undefined) return before;
  let value: unknown;
  try {
    value = JSON.parse(delivery.body.toString("utf8"));
  } catch {
    throw new NoParameters("the message is no JSON, and the statement asks for its fields");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new NoParameters("the message is no JSON object, and the statement asks for its fields");
  }
  read.set(delivery, value as Readonly<Record<string, unknown>>);
  return value as Readonly<Record<string, unknown>>;
}
