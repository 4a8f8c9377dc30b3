import type { Step } from "../api/message-answers.js";

/** What a step of a message says of itself, as a person would. */
export function stepWords({ kind, detail }: Pick<Step, "kind" | "detail">): string {
  const { to, attempt, reply, arrived, unconfirmed, ...others } = fieldsOf(detail);
  const words = [
    kind === "unrouted" ? "no handler wanted it" : null,
    kind === "filtered" ? "its handler sent nothing" : null,
    Array.isArray(to) && to.length > 0 ? `to ${to.map(String).join(", ")}` : null,
    typeof attempt === "number" && attempt > 1 ? `at attempt ${attempt}` : null,
    typeof reply === "string" ? `answered ${reply}` : null,
    arrived === undefined ? null : "it had arrived before",
    typeof unconfirmed === "string" ? `not confirmed: ${unconfirmed}` : null,
    ...Object.entries(others).map(([name, value]) => `${name} ${JSON.stringify(value)}`),
  ];
  return words.filter((word) => word !== null).join(", ");
}

function fieldsOf(detail: unknown): Readonly<Record<string, unknown>> {
  return typeof detail === "object" && detail !== null && !Array.isArray(detail) ? { ...detail } : {};
}
