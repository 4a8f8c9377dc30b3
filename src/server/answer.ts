import { type GuardedNode, roleHeaders } from "./role-headers.js";

/** An answer for any framework: `body` is to be sent as JSON. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

export function answer(
  node: GuardedNode,
  status: number,
  body: Readonly<Record<string, unknown>>,
  role?: string,
): Answer {
  return { status, headers: { ...roleHeaders(node, role), "cache-control": "no-store" }, body };
}
