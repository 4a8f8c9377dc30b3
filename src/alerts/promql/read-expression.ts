import type { SyntaxNode } from "@lezer/common";
import type { Expression, Selector } from "../core/expression.js";
import { readDuration, readNumber } from "./literals.js";
import { type Item, inOrder } from "./operator-order.js";
import { operatorOf, readBinary } from "./read-binary.js";
import { readSelector } from "./read-selector.js";
import { Refusal } from "./refusal.js";
import {
  aggregationOperators,
  functionNames,
  signatureOf,
  tightest,
  tightnessOf,
  type ValueKind,
} from "./signatures.js";
import { operandsOf, Source, type Typed } from "./source.js";

/** Where the reading has got to. */
interface Cursor {
  readonly items: readonly Item[];
  next: number;
}

/** Rounds are kept for so long. */
const furthestBackMs = 3_600_000;

/** Turns the tree that the grammar gives into an expression, and refuses what conditions may not use. */
export class ExpressionReader {
  private readonly source: Source;

  constructor(text: string) {
    this.source = new Source(text);
  }

  read(node: SyntaxNode): Typed {
    const items = inOrder(node, this.source.text);
    const cursor = { items, next: 0 };
    return this.climb(cursor, 0);
  }

  /** Reads on for as long as operators bind at least so tightly. */
  private climb(cursor: Cursor, least: number): Typed {
    let left = this.prefixed(cursor);
    for (;;) {
      const item = cursor.items[cursor.next];
      if (item?.kind !== "operator") return left;
      const tightness = tightnessOf(operatorOf(this.source, item.node).operator);
      if (tightness < least) return left;
      cursor.next += 1;
      // Powers are taken from the right, everything else from the left.
      const right = this.climb(cursor, tightness === tightest ? tightness : tightness + 1);
      left = readBinary(this.source, item.node, left, right);
    }
  }

  private prefixed(cursor: Cursor): Typed {
    const item = cursor.items[cursor.next];
    cursor.next += 1;
    if (item?.kind === "sign") return this.signed(item.at, this.climb(cursor, tightest));
    if (item?.kind !== "operand") throw new Refusal(item?.node.from ?? 0, "something is missing before this");
    let operand = this.operand(item.node);
    for (let after = cursor.items[cursor.next]; after?.kind === "suffix"; after = cursor.items[cursor.next]) {
      if (item.node.name !== "VectorSelector") {
        throw new Refusal(item.node.from, "only series by name or label can have a range or an offset");
      }
      operand = this.suffixed(operand, after.node);
      cursor.next += 1;
    }
    return operand;
  }

  private operand(node: SyntaxNode): Typed {
    const at = node.from;
    switch (node.name) {
      case "NumberDurationLiteral":
        return {
          expression: { kind: "number", value: readNumber(this.source.written(node), at) },
          gives: "scalar",
          at,
        };
      case "ParenExpr":
        return { ...this.read(this.only(node)), at };
      case "VectorSelector":
        return this.selected(at, readSelector(node, this.source.text), null);
      case "FunctionCall":
        return this.call(node);
      case "AggregateExpr":
        return this.aggregation(node);
      default:
        throw new Refusal(at, refusedNodes[node.name] ?? "conditions may not use this");
    }
  }

  /** What must give this kind. */
  readAs(gives: ValueKind, node: SyntaxNode, where: string): Expression {
    const read = this.read(node);
    if (read.gives !== gives) {
      throw new Refusal(read.at, `${where} takes ${kindNames[gives]}, and this is ${kindNames[read.gives]}`);
    }
    return read.expression;
  }

  private only(node: SyntaxNode): SyntaxNode {
    const [first] = operandsOf(node);
    if (first === undefined) throw new Refusal(node.from, "nothing is in it");
    return first;
  }

  /** `[5m]`, and `offset 5m` after it. */
  private suffixed({ expression, at }: Typed, node: SyntaxNode): Typed {
    if (node.name === "MatrixSelector") {
      if (expression.kind !== "selector" || expression.selector.offsetMs !== 0) {
        throw new Refusal(at, "a range comes once, right after the name and the labels");
      }
      return this.selected(at, expression.selector, this.duration(node, "DurationExpr"));
    }
    if ((expression.kind !== "selector" && expression.kind !== "range") || expression.selector.offsetMs !== 0) {
      throw new Refusal(at, "an offset comes once");
    }
    const selector = { ...expression.selector, offsetMs: this.duration(node, "OffsetDurationExpr") };
    return this.selected(at, selector, expression.kind === "range" ? expression.rangeMs : null);
  }

  private selected(at: number, selector: Selector, rangeMs: number | null): Typed {
    if (selector.offsetMs + (rangeMs ?? 0) > furthestBackMs) {
      throw new Refusal(at, "it reaches further back than the hour that is kept");
    }
    if (rangeMs === null) return { expression: { kind: "selector", selector }, gives: "vector", at };
    return { expression: { kind: "range", selector, rangeMs }, gives: "range", at };
  }

  private duration(node: SyntaxNode, name: string): number {
    const found = node.getChild(name);
    const at = found?.from ?? node.from;
    const durationMs = readDuration(found === null ? "" : this.source.written(found), at);
    if (durationMs === 0 && name === "DurationExpr") throw new Refusal(at, "a range is longer than nothing");
    return durationMs;
  }

  private signed(at: number, of: Typed): Typed {
    if (of.gives === "range") throw new Refusal(of.at, "a range has no sign");
    if (this.source.text.charAt(at) === "+") return { ...of, at };
    return { expression: { kind: "negation", of: of.expression }, gives: of.gives, at };
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
  const others =
    close.length > 0 ? `they may use ${close.join(", ")}` : "docs/reference/promql.md has those that they may";
  return `conditions may not use a function "${name}"; ${others}`;
}
