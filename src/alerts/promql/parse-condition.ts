import { parser } from "@prometheus-io/lezer-promql";
import type { Expression } from "../core/expression.js";
import { readText } from "./literals.js";
import { ExpressionReader, unknownFunction } from "./read-expression.js";
import { marked, Refusal } from "./refusal.js";
import type { Typed } from "./source.js";

interface RefusedCondition {
  readonly kind: "refused";
  /** One line, without a full stop, to be shown after the name of the setting. */
  readonly reason: string;
  /** Two lines: the line of the condition, and a `^` below the place. */
  readonly marked: string;
}

export type ParsedCondition = { readonly kind: "parsed"; readonly expression: Expression } | RefusedCondition;

const longestText = 4_000;
const deepestTree = 300;

/** Reads a condition. It must give series, each of which is an alert: a mere number is refused. */
export function parseCondition(text: string): ParsedCondition {
  return parse(text, (read) => {
    if (read.gives === "vector") return;
    const what = read.gives === "range" ? "a stretch of values" : "a mere number";
    throw new Refusal(read.at, `it gives ${what}, and not series that an alert could be about`);
  });
}

/** Reads any expression of the subset, also one that gives a number. */
export function parseExpression(text: string): ParsedCondition {
  return parse(text, (read) => {
    if (read.gives === "range") throw new Refusal(read.at, 'a range like "[5m]" belongs into a function like rate');
  });
}

function parse(text: string, check: (read: Typed) => void): ParsedCondition {
  try {
    const read = readAll(text);
    check(read);
    return { kind: "parsed", expression: read.expression };
  } catch (error) {
    if (error instanceof Refusal) return { kind: "refused", reason: error.message, marked: marked(text, error.at) };
    throw error;
  }
}

function readAll(text: string): Typed {
  if (text.length > longestText) throw new Refusal(longestText, `it is longer than ${longestText} characters`);
  if (text.replaceAll(/#.*/g, "").trim() === "") throw new Refusal(0, "it is empty");
  const tree = parser.parse(text);
  refuseErrors(tree, text);
  const [top] = tree.topNode.getChildren("Expr");
  if (top === undefined) throw new Refusal(0, "it cannot be read");
  return new ExpressionReader(text).read(top);
}

/** The parser reads on after what it cannot make sense of; the first such place is the one to tell. */
function refuseErrors(tree: ReturnType<typeof parser.parse>, text: string): void {
  let depth = 0;
  tree.iterate({
    enter: ({ type, from, to }) => {
      depth += 1;
      if (depth > deepestTree) throw new Refusal(from, "it nests deeper than anybody could follow");
      if (type.name === "StringLiteral") readText(text.slice(from, to), from);
      if (type.isError) throw new Refusal(from, reasonOfError(text, from));
    },
    leave: () => {
      depth -= 1;
    },
  });
}

function reasonOfError(text: string, at: number): string {
  const [, called] = /([a-zA-Z_:][a-zA-Z0-9_:]*)\s*$/.exec(text.slice(0, at)) ?? [];
  if (text.charAt(at) === "(" && called !== undefined) return unknownFunction(called);
  return text.slice(at).trim() === "" ? "it ends too early" : "it cannot be read from here on";
}
