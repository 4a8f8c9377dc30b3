import type { ArithmeticOperator, BinaryOperator, ComparisonOperator, SetOperator } from "./expression.js";

const comparisons: ReadonlySet<string> = new Set<ComparisonOperator>(["==", "!=", ">", "<", ">=", "<="]);
const setOperators: ReadonlySet<string> = new Set<SetOperator>(["and", "or", "unless"]);

export const isComparison = (operator: BinaryOperator): operator is ComparisonOperator => comparisons.has(operator);
export const isSetOperator = (operator: BinaryOperator): operator is SetOperator => setOperators.has(operator);

export function calculate(operator: ArithmeticOperator, left: number, right: number): number {
  switch (operator) {
    case "+":
      return left + right;
    case "-":
      return left - right;
    case "*":
      return left * right;
    case "/":
      return left / right;
    case "%":
      return left % right;
    case "^":
      return power(left, right);
  }
}

/** One to whatever power is one, and so is minus one to an infinite one; JavaScript has no number there. */
function power(base: number, exponent: number): number {
  if (base === 1 || (base === -1 && Math.abs(exponent) === Number.POSITIVE_INFINITY)) return 1;
  return base ** exponent;
}

export function compares(operator: ComparisonOperator, left: number, right: number): boolean {
  switch (operator) {
    case "==":
      return left === right;
    case "!=":
      return left !== right;
    case ">":
      return left > right;
    case "<":
      return left < right;
    case ">=":
      return left >= right;
    case "<=":
      return left <= right;
  }
}
