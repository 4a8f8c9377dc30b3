import { anyone } from "../access/access.js";
import type { Stopped } from "../store/connection-contract.js";

/** How a connection is doing. `running` while it is meant to, whether or not anybody is at the other end right now. */
export interface ConnectionView {
  readonly name: string;
  readonly direction: "inbound" | "outbound";
  readonly transport: string;
  readonly state: "running" | "starting" | "stopped" | "failed";
  readonly reason: string | null;
  /** Milliseconds since 1970; null where nobody knows. */
  readonly since: number | null;
  /** How many are open. */
  readonly connections: number;
}

export function stoppedView({ by, reason, at }: Stopped & { readonly at: number }) {
  // Where there are no tokens nobody has a name.
  const who = by === anyone.name || by === "" ? "hand" : by;
  return { state: "stopped", reason: `stopped by ${who}: ${reason}`, since: at, connections: 0 } as const;
}
