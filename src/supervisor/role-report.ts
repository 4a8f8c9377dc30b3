import type { Posture } from "../membership/posture.js";
import type { ControllerWord } from "./controller-word.js";
import type { ControllerRole } from "./core/messages.js";

/** What is seen of a node here. A `HoldfastNode` is one. */
export interface ReportedNode {
  readonly id: string;
  posture(role: string): Pick<Posture, "role" | "leaderId">;
  on(event: "draining", listener: () => void): unknown;
  role(name: string): {
    leader(): { readonly nodeId: string } | null;
    on(event: "elected" | "lost", listener: () => void): unknown;
  };
}

/** The role whose leader hands out jobs: what an agent must not work beside. */
const role = "scheduler";

/** What no event tells, above all a drain that was taken back, is seen so soon. Looking costs nothing but memory. */
const lookMs = 100;

/**
 * Tells where this node stands for `scheduler`, whenever that changes. From the election until the term has ended it is
 * LEADER, also while its gate is shut for a moment: it may act again without being elected anew.
 */
export function reportRole(node: ReportedNode, url: string, tell: (word: ControllerWord) => void): Disposable {
  const handle = node.role(role);
  let hasTerm = false;
  let told: ControllerRole | null = null;
  const look = (): void => {
    const { role: posture, leaderId } = node.posture(role);
    hasTerm ||= posture === "LEADER" || handle.leader()?.nodeId === node.id;
    const stands = posture === "STANDBY" && hasTerm ? "LEADER" : posture;
    // Where nobody leads yet, a node that has just come may be elected in the next moment: its agent would start in vain.
    if (stands === told || (told === null && stands === "STANDBY" && leaderId === null)) return;
    told = stands;
    tell({ kind: "role", role: stands });
  };
  handle.on("elected", () => {
    hasTerm = true;
    look();
  });
  handle.on("lost", () => {
    hasTerm = false;
    look();
  });
  node.on("draining", look);
  const timer = setInterval(look, lookMs).unref();
  tell({ kind: "serving", node_id: node.id, url });
  look();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
