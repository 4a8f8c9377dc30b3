import type { Lease } from "../../election/core/lease.js";
import type { NodeId } from "../../election/core/names.js";
import type { Transition } from "../contract.js";

export interface TransitionDetail {
  readonly previous: NodeId | null;
  readonly gapMs: number | null;
}

/** What the history says of a lease that has just changed. */
export function transitionAfter(
  last: Transition | undefined,
  { role, epoch, holder }: Lease,
  { previous, event, ...rest }: TransitionDetail & Pick<Transition, "event" | "reason" | "at">,
): Transition {
  const id = `${Number(last?.id ?? 0) + 1}`;
  const nodeId = event === "elected" ? holder : previous;
  return { id, role, epoch, event, nodeId, previousNodeId: previous, ...rest };
}
