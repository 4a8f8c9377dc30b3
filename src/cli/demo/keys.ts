import { type DemoState, leaderOf } from "./demo-state.js";

/** What a key asks for. */
export type Wish =
  | { readonly kind: "strike"; readonly nodeId: string; readonly deed: "killed" | "frozen" }
  | { readonly kind: "revive"; readonly restart: readonly string[]; readonly wake: readonly string[] }
  | { readonly kind: "tell"; readonly text: string }
  | { readonly kind: "quit" };

const interrupt = "\u0003";
const endOfInput = "\u0004";

export const keyHelp = "k kill the leader   s freeze it   r revive   q quit";

/** Null for a key that means nothing here. */
export function wishOf(state: DemoState, key: string): Wish | null {
  switch (key.toLowerCase()) {
    case "k":
      return strike(state, "killed");
    case "s":
      return strike(state, "frozen");
    case "r":
      return revive(state);
    case "q":
    case interrupt:
    case endOfInput:
      return { kind: "quit" };
    default:
      return null;
  }
}

function strike(state: DemoState, deed: "killed" | "frozen"): Wish {
  const leader = leaderOf(state);
  if (leader !== null) return { kind: "strike", nodeId: leader.id, deed };
  const waits = state.blow?.deed === "frozen" ? "the lease of the frozen one has to run out first" : "r revives nodes";
  return { kind: "tell", text: `Nobody leads at this moment: ${waits}.` };
}

/** A node that does not answer may have been frozen from elsewhere, and waking does no harm to one that was not. */
function revive({ nodes }: DemoState): Wish {
  const restart = nodes.filter(({ condition }) => condition.kind === "dead").map(({ id }) => id);
  const asleep = nodes.filter(({ condition }) => condition.kind === "frozen" || condition.kind === "silent");
  if (restart.length + asleep.length === 0) return { kind: "tell", text: "All nodes are alive." };
  return { kind: "revive", restart, wake: asleep.map(({ id }) => id) };
}
