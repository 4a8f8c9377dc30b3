import type { ControllerRole } from "./core/messages.js";

/** What a controller tells its node-controller over the channel between them. */
export type ControllerWord =
  | { readonly kind: "serving"; readonly node_id: string; readonly url: string }
  | { readonly kind: "role"; readonly role: ControllerRole };

const roles: readonly string[] = ["LEADER", "STANDBY", "DRAINING"] satisfies readonly ControllerRole[];

/** Null for what is no such word. */
export function readWord(message: unknown): ControllerWord | null {
  if (typeof message !== "object" || message === null) return null;
  const { kind, role, node_id, url } = message as Readonly<Record<string, unknown>>;
  if (kind === "role" && typeof role === "string" && roles.includes(role)) {
    return { kind, role: role as ControllerRole };
  }
  if (kind === "serving" && typeof node_id === "string" && typeof url === "string") return { kind, node_id, url };
  return null;
}

/** Says it to whoever started this process; nothing where nobody listens, or no longer does. */
export function tellSupervisor(word: ControllerWord): void {
  if (process.send === undefined || !process.connected) return;
  // A supervisor that is gone hears nothing, and its end is noticed elsewhere: see child-guard.ts.
  process.send(word, undefined, undefined, () => undefined);
}

/** Whether a node-controller started this process. */
export function isSupervised(): boolean {
  return process.send !== undefined;
}
