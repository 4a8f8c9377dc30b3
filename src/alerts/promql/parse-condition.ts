import { parser } from "@prometheus-io/lezer-promql";
import type { Expression } from "../core/expression.js";
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
  const tree = parser.parse(text);
  refuseErrors(tree, text);
  const [top] = tree.topNode.getChildren("Expr");
  if (top === undefined) throw new Refusal(0, "it is empty");
  return new ExpressionReader(text).read(top);
}

/** The parser reads on after what it cannot make sense of; the first such place is the one to tell. */
function refuseErrors(tree: ReturnType<typeof parser.parse>, text: string): void {
  tree.iterate({
    enter: ({ type, from }) => {
      if (!type.isError) return;
      const [, called] = /([a-zA-Z_:][a-zA-Z0-9_:]*)\s*$/.exec(text.slice(0, from)) ?? [];
      if (text.charAt(from) === "(" && called !== undefined) {
        throw new Refusal(text.slice(0, from).lastIndexOf(called), unknownFunction(called));
      }
      throw new Refusal(from, text.slice(from).trim() === "" ? "it ends too early" : "it cannot be read from here on");
    },
  });
}
