import type { SyntaxNode } from "@lezer/common";
import { operandsOf } from "./source.js";

/** One thing after the other, as they stand in the text: `-`, `x`, `offset 5m`, `*`, `2`. */
export type Item =
  | { readonly kind: "operand"; readonly node: SyntaxNode }
  /** Before what it belongs to. */
  | { readonly kind: "sign"; readonly at: number }
  /** After what it belongs to: a range or an offset. */
  | { readonly kind: "suffix"; readonly node: SyntaxNode }
  /** Its modifiers are children of the node. */
  | { readonly kind: "operator"; readonly node: SyntaxNode };

/**
 * Takes the tree apart again where operators have put it together. The grammar is made for editors: it lets an offset follow
 * any expression, so that `a + b offset 5m` is `(a + b) offset 5m` to it, and `-1 ^ 2` the square of -1. Prometheus reads both otherwise,
 * so what binds to what is decided anew from this list.
 */
export function inOrder(node: SyntaxNode, text: string): readonly Item[] {
  const [first, second] = operandsOf(node);
  switch (node.name) {
    case "BinaryExpr":
      if (first === undefined || second === undefined) break;
      return [...inOrder(first, text), { kind: "operator", node }, ...inOrder(second, text)];
    case "UnaryExpr":
      if (first === undefined) break;
      return [{ kind: "sign", at: node.from }, ...inOrder(first, text)];
    case "OffsetExpr":
    case "MatrixSelector":
      if (first === undefined) break;
      return [...inOrder(first, text), { kind: "suffix", node }];
    case "NumberDurationLiteral": {
      const isSigned = /[+-]/.test(text.charAt(node.from));
      return isSigned
        ? [
            { kind: "sign", at: node.from },
            { kind: "operand", node },
          ]
        : [{ kind: "operand", node }];
    }
    default:
  }
  return [{ kind: "operand", node }];
}
