import { keyOf, type Labels } from "./labels.js";

/** One resulting series. */
export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

export type Vector = readonly Sample[];

/** The series at hand do not fit the expression. Its message is one line. */
export class EvaluationFailure extends Error {}

/** Labels that were dropped can make two series into one, which then has two values. */
export function requireDistinct(vector: Vector): Vector {
  const keys = new Set(vector.map(({ labels }) => keyOf(labels)));
  if (keys.size < vector.length) throw new EvaluationFailure("it gives two series with the same labels");
  return vector;
}
