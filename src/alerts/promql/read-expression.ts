import type { SyntaxNode } from "@lezer/common";
import type { Expression, Selector } from "../core/expression.js";
import { readDuration, readNumber } from "./literals.js";
import { readBinary } from "./read-binary.js";
import { readSelector } from "./read-selector.js";
import { Refusal } from "./refusal.js";
import { aggregationOperators, functionNames, signatureOf, type ValueKind } from "./signatures.js";
import { operandsOf, Source, type Typed } from "./source.js";

/** Rounds are kept for so long. */
const furthestBackMs = 3_600_000;

/** Turns the tree that the grammar gives into an expression, and refuses what conditions may not use. */
export class ExpressionReader {
  private readonly source: Source;

  constructor(text: string) {
    this.source = new Source(text);
  }

  read(node: SyntaxNode): Typed {
    const at = node.from;
    switch (node.name) {
      case "NumberDurationLiteral":
        return {
          expression: { kind: "number", value: readNumber(this.source.written(node), at) },
          gives: "scalar",
          at,
        };
      case "ParenExpr": {
        const inner = this.read(this.only(node));
        return { ...inner, expression: { kind: "parens", of: inner.expression }, at };
      }
      case "VectorSelector":
        return this.selected(node, readSelector(node, this.source.text), null);
      case "MatrixSelector":
      case "OffsetExpr":
        return this.shifted(node);
      case "UnaryExpr":
        return this.signed(node);
      case "FunctionCall":
        return this.call(node);
      case "AggregateExpr":
        return this.aggregation(node);
      case "BinaryExpr":
        return this.binary(node);
      default:
        throw new Refusal(at, refusedNodes[node.name] ?? "conditions may not use this");
    }
  }

  /** What must give this kind. */
  readAs(gives: ValueKind, node: SyntaxNode, where: string): Expression {
    const read = this.read(node);
    if (read.gives !== gives)
      throw new Refusal(read.at, `${where} takes ${kindNames[gives]}, and this is ${kindNames[read.gives]}`);
    return read.expression;
  }

  private only(node: SyntaxNode): SyntaxNode {
    const [first] = operandsOf(node);
    if (first === undefined) throw new Refusal(node.from, "nothing is in it");
    return first;
  }

  /** `offset` and `[5m]` belong to the selector right before them. */
  private shifted(node: SyntaxNode): Typed {
    const inner = this.only(node);
    if (node.name === "MatrixSelector") {
      if (inner.name !== "VectorSelector")
        throw new Refusal(inner.from, "a range can only be taken of series by name or label");
      return this.selected(node, readSelector(inner, this.source.text), this.duration(node, "DurationExpr"));
    }
    const isSelector = inner.name === "VectorSelector" || inner.name === "MatrixSelector";
    if (!isSelector) throw new Refusal(inner.from, "only series by name or label can have an offset");
    const { expression } = this.read(inner);
    const offsetMs = this.duration(node, "OffsetDurationExpr");
    if (expression.kind !== "selector" && expression.kind !== "range")
      throw new Refusal(inner.from, "it has no offset");
    return this.selected(
      node,
      { ...expression.selector, offsetMs },
      expression.kind === "range" ? expression.rangeMs : null,
    );
  }

  private selected(node: SyntaxNode, selector: Selector, rangeMs: number | null): Typed {
    if (selector.offsetMs + (rangeMs ?? 0) > furthestBackMs) {
      throw new Refusal(node.from, "it reaches further back than the hour that is kept");
    }
    if (rangeMs === null) return { expression: { kind: "selector", selector }, gives: "vector", at: node.from };
    return { expression: { kind: "range", selector, rangeMs }, gives: "range", at: node.from };
  }

  private duration(node: SyntaxNode, name: string): number {
    const found = node.getChild(name);
    const at = found?.from ?? node.from;
    const durationMs = readDuration(found === null ? "" : this.source.written(found), at);
    if (durationMs === 0 && name === "DurationExpr") throw new Refusal(at, "a range is longer than nothing");
    return durationMs;
  }

  private signed(node: SyntaxNode): Typed {
    const of = this.read(this.only(node));
    if (of.gives === "range") throw new Refusal(of.at, "a range has no sign");
    if (this.source.text.charAt(node.from) === "+") return { ...of, at: node.from };
    return { expression: { kind: "negation", of: of.expression }, gives: of.gives, at: node.from };
  }

  private call(node: SyntaxNode): Typed {
    const identifier = node.getChild("FunctionIdentifier");
    const name = identifier === null ? "" : this.source.written(identifier);
    const known = signatureOf(name);
    if (known === null) throw new Refusal(node.from, unknownFunction(name));
    const body = node.getChild("FunctionCallBody");
    const given = body === null ? [] : operandsOf(body);
    const { takes, least, gives } = known.signature;
    if (given.length < least || given.length > takes.length) {
      const count = least === takes.length ? `${least}` : `${least} or ${takes.length}`;
      throw new Refusal(
        node.from,
        `${name} takes ${count} ${count === "1" ? "argument" : "arguments"}, and here are ${given.length}`,
      );
    }
    const args = given.map((argument, index) => this.readAs(takes[index] ?? "scalar", argument, name));
    return { expression: { kind: "call", name: known.name, args }, gives, at: node.from };
  }

  private binary(node: SyntaxNode): Typed {
    const [left, right] = operandsOf(node);
    if (left === undefined || right === undefined) throw new Refusal(node.from, "a side is missing");
    return readBinary(this.source, node, this.read(left), this.read(right));
  }

  private aggregation(node: SyntaxNode): Typed {
    const named = node.getChild("AggregateOp");
    const name = named === null ? "" : this.source.written(named).toLowerCase();
    const operator = aggregationOperators.find((one) => one === name);
    if (operator === undefined) {
      throw new Refusal(node.from, `conditions may not use ${name}; they may use ${aggregationOperators.join(", ")}`);
    }
    const body = node.getChild("FunctionCallBody");
    const [argument, ...more] = body === null ? [] : operandsOf(body);
    if (argument === undefined || more.length > 0) throw new Refusal(node.from, `${name} takes 1 argument`);
    const modifier = node.getChild("AggregateModifier");
    return {
      expression: {
        kind: "aggregation",
        operator,
        by: modifier === null || modifier.getChild("By") !== null,
        labels: modifier === null ? [] : this.source.labelNames(modifier.getChild("GroupingLabels")),
        of: this.readAs("vector", argument, name),
      },
      gives: "vector",
      at: node.from,
    };
  }
}

const kindNames: Readonly<Record<ValueKind, string>> = {
  scalar: "a number",
  vector: "series with a value each",
  range: 'series over a range like "[5m]"',
};

const refusedNodes: Readonly<Record<string, string>> = {
  StringLiteral: "a text belongs after a label's name",
  SubqueryExpr: "conditions may not use subqueries",
  StepInvariantExpr: 'conditions may not use "@"',
  AnchoredExpr: 'conditions may not use "anchored"',
  SmoothedExpr: 'conditions may not use "smoothed"',
};

export function unknownFunction(name: string): string {
  const close = functionNames.filter((known) => known.startsWith(name.slice(0, 3)));
  const some = close.length > 0 ? close : functionNames;
  return `conditions may not use a function "${name}"; they may use ${some.join(", ")}`;
}
