import type { SyntaxNode } from "@lezer/common";
import type { Matcher, Selector } from "../core/expression.js";
import { metricName, noLabels } from "../core/labels.js";
import { parseRegex } from "../core/regex.js";
import { matches } from "../core/selector.js";
import { readText } from "./literals.js";
import { Refusal } from "./refusal.js";

/** Reads `name{label="value"}`. */
export function readSelector(node: SyntaxNode, text: string): Selector {
  const name = node.getChild("Identifier");
  const braces = node.getChild("LabelMatchers");
  const matchers: Matcher[] = [];
  if (name !== null) {
    matchers.push({ kind: "text", label: metricName, equal: true, value: text.slice(name.from, name.to) });
  }
  for (let child = braces?.firstChild ?? null; child !== null; child = child.nextSibling) {
    if (child.name !== "UnquotedLabelMatcher") throw new Refusal(child.from, "a label's name has no quotes");
    const matcher = readMatcher(child, text);
    if (name !== null && matcher.label === metricName) {
      throw new Refusal(child.from, "the metric's name stands before the braces already");
    }
    matchers.push(matcher);
  }
  if (matchers.every((matcher) => matches([matcher], noLabels))) {
    throw new Refusal(node.from, "it would take every series there is; name the metric, or ask for a label's value");
  }
  return { matchers, offsetMs: 0 };
}

function readMatcher(node: SyntaxNode, text: string): Matcher {
  const part = (name: string): { readonly written: string; readonly from: number } => {
    const found = node.getChild(name);
    if (found === null) throw new Refusal(node.from, "it cannot be read from here on");
    return { written: text.slice(found.from, found.to), from: found.from };
  };
  const label = part("LabelName").written;
  const operator = part("MatchOp").written;
  const literal = part("StringLiteral");
  const value = readText(literal.written, literal.from);
  const equal = operator === "=" || operator === "=~";
  if (operator === "=" || operator === "!=") return { kind: "text", label, equal, value };
  const parsed = parseRegex(value);
  if (parsed.kind === "refused") throw new Refusal(literal.from, `the pattern is not taken: ${parsed.reason}`);
  return { kind: "regex", label, equal, value: parsed.regex };
}
