/** What can be looked for, as the message browser asks. */
export interface SearchFilter {
  readonly from?: number;
  readonly until?: number;
  readonly connection?: string;
  readonly type?: string;
  readonly controlId?: string;
  readonly status?: "received" | "routed" | "processed" | "sent" | "filtered" | "unrouted" | "error";
  readonly text?: string;
}
