import type { Incarnation, NodeId, Role } from "../election/core/names.js";

/** What one node may ask of another. The request travels as a row: nodes never call each other. */
export type RequestKind = "drain" | "resume" | "step_down";

export interface RequestOrder {
  readonly kind: RequestKind;
  /** Whom it is for; a step-down goes to whoever leads the role. */
  readonly nodeId: string | null;
  readonly role: Role | null;
  /** Who shall lead next, where a step-down names somebody. */
  readonly to: string | null;
  readonly requestedBy: string;
}

/** Meant for one process: a request to a node that has been restarted since is never acted on. */
export interface NodeRequest {
  readonly id: string;
  readonly kind: RequestKind;
  readonly nodeId: NodeId;
  readonly incarnation: Incarnation;
  readonly role: Role | null;
  readonly to: string | null;
  readonly requestedBy: string;
  /** Milliseconds since 1970, by the database's clock. */
  readonly requestedAt: number;
  readonly actedAt: number | null;
  readonly outcome: RequestOutcome | null;
}

export type RequestOutcome =
  | { readonly kind: "done" }
  /** It could not be, and why. */
  | { readonly kind: "refused"; readonly message: string };
