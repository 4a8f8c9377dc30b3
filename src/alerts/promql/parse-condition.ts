import type { Expression } from "../core/expression.js";

export type ParsedCondition =
  | { readonly kind: "parsed"; readonly expression: Expression }
  | {
      readonly kind: "refused";
      /** One line, without a full stop, to be shown after the name of the setting. */
      readonly reason: string;
      /** Two lines: the line of the condition, and a `^` below the place. */
      readonly marked: string;
    };

/** Reads a condition. It must give series, each of which is an alert: a mere number is refused. */
export function parseCondition(_text: string): ParsedCondition {
  return { kind: "refused", reason: "not built yet", marked: "" };
}
