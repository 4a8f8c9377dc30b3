import type { SyntaxNode } from "@lezer/common";
import { isComparison, isSetOperator } from "../core/arithmetic.js";
import type { BinaryOperator, Expression, Matching } from "../core/expression.js";
import { Refusal } from "./refusal.js";
import { binaryOperators } from "./signatures.js";
import type { Source, Typed } from "./source.js";

const unmatched: Matching = { on: false, labels: [], group: "none", include: [] };

/** Puts together what stands on both sides of an operator. */
export function readBinary(source: Source, node: SyntaxNode, left: Typed, right: Typed): Typed {
  const { operator, at } = operatorOf(source, node);
  refuseRange(left);
  refuseRange(right);
  const bool = node.getChild("BoolModifier") !== null;
  const fill = node.getChild("FillModifier");
  if (fill !== null) throw new Refusal(fill.from, "conditions may not use fill");
  const clause = node.getChild("MatchingModifierClause");
  const isOfNumbers = left.gives === "scalar" && right.gives === "scalar";
  if (bool && !isComparison(operator)) throw new Refusal(at, `bool belongs to comparisons, and "${operator}" is none`);
  if (isComparison(operator) && isOfNumbers && !bool) {
    throw new Refusal(at, `two numbers are compared with bool: "${operator} bool"`);
  }
  if (isSetOperator(operator) && (left.gives === "scalar" || right.gives === "scalar")) {
    throw new Refusal(at, `${operator} stands between series, and one side is a number`);
  }
  const matching = clause === null ? unmatched : readMatching(source, clause, operator);
  if (clause !== null && matching.labels.length > 0 && (left.gives === "scalar" || right.gives === "scalar")) {
    throw new Refusal(clause.from, "labels are matched between series, and one side is a number");
  }
  const expression: Expression = {
    kind: "binary",
    operator,
    left: left.expression,
    right: right.expression,
    bool,
    matching,
  };
  return { expression, gives: isOfNumbers ? "scalar" : "vector", at: left.at };
}

/** Which operator it is; the node is that of the whole. */
export function operatorOf(
  source: Source,
  node: SyntaxNode,
): { readonly operator: BinaryOperator; readonly at: number } {
  let token = node.firstChild?.nextSibling ?? null;
  while (token?.name === "LineComment") token = token.nextSibling;
  const written = token === null ? "" : source.written(token).toLowerCase();
  const operator = binaryOperators.find((one) => one === written);
  const at = token?.from ?? node.from;
  if (operator === undefined) throw new Refusal(at, `conditions may not use "${written}"`);
  return { operator, at };
}

function refuseRange({ gives, at }: Typed): void {
  if (gives === "range") throw new Refusal(at, 'a range like "[5m]" belongs into a function like rate');
}

function readMatching(source: Source, clause: SyntaxNode, operator: BinaryOperator): Matching {
  const [labelsNode = null, includeNode = null] = clause.getChildren("GroupingLabels");
  const labels = source.labelNames(labelsNode);
  const include = source.labelNames(includeNode);
  const on = clause.getChild("On") !== null;
  const group =
    clause.getChild("GroupLeft") !== null ? "left" : clause.getChild("GroupRight") !== null ? "right" : "none";
  if (group !== "none" && isSetOperator(operator)) {
    throw new Refusal(clause.from, `${operator} matches many with many, so it takes no group_left or group_right`);
  }
  const both = include.find((label) => on && labels.includes(label));
  if (both !== undefined) {
    throw new Refusal(includeNode?.from ?? clause.from, `"${both}" is matched on already, so both sides have the same`);
  }
  return { on, labels, group, include };
}
