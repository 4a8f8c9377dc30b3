import type { HoldfastError } from "./errors.js";

export interface NodeEvents {
  draining: [];
  /** No retry will mend it: this node contends no more. */
  failed: [HoldfastError];
}
