import type { WrittenRule } from "./alert-rule.js";

/** The rules that are on where nobody says otherwise, over metrics of this prefix. */
export function defaultRules(_prefix: string): readonly WrittenRule[] {
  return [];
}
