import { HoldfastError } from "../../errors.js";
import type { Expression } from "./expression.js";
import type { Labels } from "./labels.js";
import type { Samples } from "./samples.js";

/** One resulting series. */
export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

export type Evaluation =
  | { readonly kind: "vector"; readonly samples: readonly Sample[] }
  | { readonly kind: "scalar"; readonly value: number }
  /** The series at hand do not fit the condition, as where two match one. The reason is one line. */
  | { readonly kind: "failed"; readonly reason: string };

/** What the expression is at that time, as Prometheus 2.42 would answer. */
export function evaluate(_expression: Expression, _samples: Samples, _atMs: number): Evaluation {
  throw new HoldfastError("INTERNAL", "Not built yet.");
}
