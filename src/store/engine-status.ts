import type { MessageStatus } from "./engine-contract.js";
import type { StepKind } from "./journal.js";

/** What is known of a message beside its row. */
export interface MessageTraces {
  /** It waits where it came in. */
  readonly isReceived: boolean;
  readonly kinds: readonly StepKind[];
  /** It is a dead letter that was not redriven. */
  readonly isInError: boolean;
}

const order: readonly StepKind[] = ["unrouted", "filtered", "processed", "sent"];

/** `asked`: the status that the message was found by. */
export function statusesOf(traces: MessageTraces, asked: MessageStatus | undefined): readonly MessageStatus[] {
  const { isReceived, kinds, isInError } = traces;
  const isRouted = asked === "routed" || (!isReceived && !isInError && kinds.length === 0);
  return [
    ...(isReceived || asked === "received" ? (["received"] as const) : []),
    ...(isRouted ? (["routed"] as const) : []),
    ...order.filter((kind) => kinds.includes(kind)),
    ...(isInError ? (["error"] as const) : []),
  ];
}

/** Of a message whose row was read before its steps and its dead letters: what came in between counts. */
export function statusesOfAccount(
  before: readonly MessageStatus[],
  steps: readonly { readonly kind: StepKind }[],
  deadLetters: readonly { readonly redrivenAt: number | null }[],
): readonly MessageStatus[] {
  const isReceived = before.includes("received") && steps.length === 0 && deadLetters.length === 0;
  const isInError = deadLetters.some(({ redrivenAt }) => redrivenAt === null);
  return statusesOf({ isReceived, kinds: steps.map(({ kind }) => kind), isInError }, undefined);
}
