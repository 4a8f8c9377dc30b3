import type { Evaluation, evaluate } from "../../src/alerts/core/evaluate.js";
import { noLabels, writeSeries } from "../../src/alerts/core/labels.js";
import { Samples } from "../../src/alerts/core/samples.js";
import type { Vector } from "../../src/alerts/core/vector.js";
import { parseExpression } from "../../src/alerts/promql/parse-condition.js";
import { askPrometheus, type PrometheusAnswer, type Scene, sameVectors } from "./promtool.js";

export interface Comparison {
  /** How many questions both had series for; a comparison of nothing with nothing shows nothing. */
  readonly answered: number;
  /** How many neither could answer, as where two series match one. */
  readonly failed: number;
  /** Each with its question, and what would have to be run to see it again. */
  readonly differences: readonly string[];
}

/** The same questions about the same rounds, to Prometheus and to an evaluator. */
export async function compare(scenes: readonly Scene[], evaluator: typeof evaluate): Promise<Comparison> {
  const answers = await askPrometheus(scenes);
  const differences: string[] = [];
  let answered = 0;
  let failed = 0;
  for (const [index, { rounds, questions }] of scenes.entries()) {
    const samples = new Samples(rounds);
    for (const [place, { expression, atMs }] of questions.entries()) {
      const theirs = answers[index]?.[place];
      if (theirs === undefined) throw new Error("an answer is missing");
      const ours = answerTo(expression, samples, atMs, evaluator);
      if (isSame(ours, theirs)) {
        if (theirs.kind === "failed") failed += 1;
        else if (theirs.samples.length > 0) answered += 1;
      } else differences.push(describe(expression, atMs, ours, theirs));
    }
  }
  return { answered, failed, differences };
}

function answerTo(expression: string, samples: Samples, atMs: number, evaluator: typeof evaluate): Evaluation {
  const parsed = parseExpression(expression);
  if (parsed.kind === "refused") return { kind: "failed", reason: `refused: ${parsed.reason}` };
  return evaluator(parsed.expression, samples, atMs);
}

function isSame(ours: Evaluation, theirs: PrometheusAnswer): boolean {
  // What we refuse to read must be wrong to Prometheus too, and the other way round.
  if (ours.kind === "failed") {
    if (theirs.kind === "answered") return false;
    return ours.reason.startsWith("refused: ") === /parse error|is not a vector or scalar/.test(theirs.message);
  }
  return theirs.kind === "answered" && sameVectors(vectorOf(ours), theirs.samples);
}

/** promtool shows a number as a series without labels. */
function vectorOf(evaluation: Exclude<Evaluation, { kind: "failed" }>): Vector {
  return evaluation.kind === "scalar" ? [{ labels: noLabels, value: evaluation.value }] : evaluation.samples;
}

function describe(expression: string, atMs: number, ours: Evaluation, theirs: PrometheusAnswer): string {
  const shown = (vector: Vector): string =>
    vector.map(({ labels, value }) => `${writeSeries(labels)} ${value}`).join(", ") || "nothing";
  const own = ours.kind === "failed" ? ours.reason : shown(vectorOf(ours));
  const other = theirs.kind === "failed" ? theirs.message : shown(theirs.samples);
  return `${expression} at ${atMs} ms\n  Prometheus: ${other}\n  Holdfast:   ${own}`;
}
