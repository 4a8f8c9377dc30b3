import type { Caller } from "../access/access.js";
import { HoldfastError } from "../errors.js";

/** The agent that a token speaks for; null where it is bound to none, as an administrator's. */
export function agentOf(caller: Caller | null): string | null {
  return caller?.role === "agent" ? caller.name : null;
}

/** A token of role agent is its agent's alone: it speaks for no other. */
export function requireAgent(caller: Caller | null, stated: string): string {
  const bound = agentOf(caller);
  if (bound !== null && bound !== stated) {
    throw new HoldfastError("FORBIDDEN", `The token "${bound}" is that agent's: it cannot speak for "${stated}".`);
  }
  return stated;
}
