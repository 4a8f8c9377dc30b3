import type { Checker, Violation } from "../checker.js";
import type { DeliveryEvent, EnqueueEvent, HistoryEvent } from "../history.js";
import { groupBy } from "./groups.js";
import { lostPeriodsOf, meets, type Period } from "./periods.js";

const name = "lost and unexpected";

/** G4, from the answer of the intake to the handler of each stage. A message that fails for good would be a dead letter: none shall. */
export const losses: Checker = {
  name,
  promise:
    "What was acknowledged is delivered in every stage; nothing is delivered that nobody sent, or that was refused (G4).",
  check(history) {
    const sent = sentOf(history);
    const deliveries = history.filter((event) => event.kind === "delivery");
    return [...lost(sent, deliveries, lostPeriodsOf(history)), ...unexpected(sent, deliveries)];
  },
};

type Sent = ReadonlyMap<string, readonly EnqueueEvent[]>;

/** By message: every try to have it taken in. */
function sentOf(history: readonly HistoryEvent[]): Sent {
  const tries = history.flatMap((event) =>
    event.kind === "enqueue" ? event.numbers.map((number) => ({ key: `${event.lane} ${number}`, event })) : [],
  );
  const byMessage = groupBy(tries, ({ key }) => key);
  return new Map([...byMessage].map(([key, own]) => [key, own.map(({ event }) => event)]));
}

function lost(sent: Sent, deliveries: readonly DeliveryEvent[], periods: readonly Period[]): readonly Violation[] {
  const stages = new Set(deliveries.map(({ stage }) => stage));
  const seen = new Set(deliveries.map(({ stage, lane, number }) => `${stage} ${lane} ${number}`));
  // Where nothing at all was delivered, no stage is known; then everything is missing in the one that has no name.
  const wanted = stages.size === 0 ? [""] : [...stages];
  return [...sent].flatMap(([message, tries]) => {
    const answer = tries.find((one) => one.outcome === "done" && !meets(periods, one));
    if (answer === undefined) return [];
    return wanted
      .filter((stage) => !seen.has(`${stage} ${message}`))
      .map((stage) => ({
        checker: name,
        at: answer.to,
        text: `${message} was acknowledged at ${answer.to.toFixed(0)}, and not delivered in ${stage || "any stage"}`,
      }));
  });
}

function unexpected(sent: Sent, deliveries: readonly DeliveryEvent[]): readonly Violation[] {
  const told = new Set<string>();
  return deliveries.flatMap(({ stage, lane, number, at, epoch }): Violation[] => {
    const message = `${lane} ${number}`;
    const tries = sent.get(message) ?? [];
    if (tries.some(({ outcome }) => outcome !== "refused") || told.has(message)) return [];
    told.add(message);
    const why = tries.length === 0 ? "nobody had sent it" : "each try to send it had been refused";
    return [{ checker: name, at, text: `${message} was delivered in ${stage} under epoch ${epoch}, and ${why}` }];
  });
}
