import type { SyntaxNode } from "@lezer/common";
import type { Expression } from "../core/expression.js";
import { Refusal } from "./refusal.js";
import type { ValueKind } from "./signatures.js";

/** An expression, and what it gives. */
export interface Typed {
  readonly expression: Expression;
  readonly gives: ValueKind;
  /** Where it stands in the text. */
  readonly at: number;
}

/** The text of a condition, as the nodes of its tree name places in it. */
export class Source {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  written(node: SyntaxNode): string {
    return this.text.slice(node.from, node.to);
  }

  /** The names in `by (a, b)` and its like. */
  labelNames(node: SyntaxNode | null): readonly string[] {
    const [quoted] = node?.getChildren("QuotedLabelName") ?? [];
    if (quoted !== undefined) throw new Refusal(quoted.from, "a label's name has no quotes");
    return (node?.getChildren("LabelName") ?? []).map((label) => this.written(label));
  }
}

export function operandsOf(node: SyntaxNode): readonly SyntaxNode[] {
  return node.getChildren("Expr");
}
