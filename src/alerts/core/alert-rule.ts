import type { Expression } from "./expression.js";

export type Severity = "info" | "warning" | "critical";

/** A rule as somebody writes it. */
export interface WrittenRule {
  readonly name: string;
  readonly condition: string;
  /** As a duration is written in settings: "30s". */
  readonly for: string;
  readonly severity: Severity;
  readonly labels: Readonly<Record<string, string>>;
  /** One sentence. `{{ $labels.x }}` and `{{ $value }}` stand for what the alert has there. */
  readonly summary: string;
}

/** A rule as it is evaluated. */
export interface AlertRule {
  readonly name: string;
  readonly expression: Expression;
  readonly forMs: number;
  readonly severity: Severity;
  readonly labels: Readonly<Record<string, string>>;
  readonly summary: string;
}
