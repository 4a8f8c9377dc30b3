import type { Checker, Violation } from "../checker.js";
import type { MllpReceivedEvent, MllpSentEvent } from "../history.js";
import { groupBy } from "./groups.js";
import { firstInversion } from "./inversions.js";
import { delaysOf, type FaultPeriod, isWithin, lostPeriodsOf, mayDelay, meets, type Period } from "./periods.js";

const name = "messages";

/** G9, from a sender's acknowledgement to the receivers. What one sender sends has one key, and so shares a lane of each outbound. */
export const mllp: Checker = {
  name,
  promise:
    "What a sender was acknowledged arrives unaltered and in order; a crash repeats at most the one message that was on its way (G9).",
  check(history) {
    const lost = lostPeriodsOf(history);
    const sent = history.filter((event) => event.kind === "mllp_sent");
    const arrived = history.filter((event) => event.kind === "mllp_received").toSorted((a, b) => a.at - b.at);
    const lanes = [...groupBy(arrived, ({ outbound, sender }) => `${outbound} ${sender}`).values()];
    const delays = delaysOf(history);
    return [
      ...missing(sent, arrived, lost),
      ...foreign(sent, arrived),
      ...lanes.flatMap((lane) => [...inverted(lane, sent, lost), ...repeated(lane, lost, delays)]),
    ];
  },
};

function missing(
  sent: readonly MllpSentEvent[],
  arrived: readonly MllpReceivedEvent[],
  lost: readonly Period[],
): readonly Violation[] {
  const seen = new Set(arrived.map(({ outbound, controlId }) => `${outbound} ${controlId}`));
  const everywhere = [...new Set(arrived.map(({ outbound }) => outbound))];
  const bySender = groupBy(arrived, ({ sender }) => sender);
  return sent
    .filter((message) => message.outcome === "done" && !meets(lost, message))
    .flatMap((message) => {
      const seenOf = () => bySender.get(message.sender)?.map(({ outbound }) => outbound) ?? everywhere;
      const own = message.goesTo ?? seenOf();
      const wanted = own.length === 0 ? ["any outbound"] : [...new Set(own)];
      return wanted
        .filter((outbound) => !seen.has(`${outbound} ${message.controlId}`))
        .map((outbound) => ({
          checker: name,
          at: message.to,
          text: `${message.controlId} was acknowledged, and did not come to ${outbound}`,
        }));
    });
}

function foreign(sent: readonly MllpSentEvent[], arrived: readonly MllpReceivedEvent[]): readonly Violation[] {
  const known = new Set(sent.filter(({ outcome }) => outcome !== "refused").map(({ controlId }) => controlId));
  return arrived.flatMap(({ controlId, outbound, at, intact }): Violation[] => {
    const say = (why: string) => [{ checker: name, at, text: `${controlId} came to ${outbound}, ${why}` }];
    if (!known.has(controlId)) return say("and nobody was told that it had been taken in, nor left in doubt");
    return intact ? [] : say("and was something else than what had been sent");
  });
}

function inverted(
  lane: readonly MllpReceivedEvent[],
  sent: readonly MllpSentEvent[],
  lost: readonly Period[],
): readonly Violation[] {
  const byId = groupBy(sent, ({ controlId }) => controlId);
  const seen = new Set<string>();
  const firsts = lane.filter(({ controlId }) => !seen.has(controlId) && seen.add(controlId));
  const found = firstInversion(
    firsts.flatMap(({ controlId, at }) => {
      const tries = byId.get(controlId) ?? [];
      const answers = tries.filter((one) => one.outcome === "done" && !meets(lost, one)).map(({ to }) => to);
      if (tries.length === 0) return [];
      const from = Math.min(...tries.map((one) => one.from));
      return [{ sending: { name: controlId, from, to: Math.min(Number.POSITIVE_INFINITY, ...answers) }, at }];
    }),
  );
  return found === null ? [] : [{ checker: name, at: found.at, text: `${lane[0]?.outbound}: ${found.text}` }];
}

/**
 * Each message is settled before the next of its lane is sent, so nothing comes again once a later one has come. But what a
 * leader wrote in time may arrive late, when its successor has sent it and others: one message of a lane for each fault that holds things up.
 */
function repeated(
  lane: readonly MllpReceivedEvent[],
  lost: readonly Period[],
  delays: readonly FaultPeriod[],
): readonly Violation[] {
  const found: Violation[] = [];
  const used = new Set<FaultPeriod>();
  const seen = new Map<string, MllpReceivedEvent>();
  let last: MllpReceivedEvent | undefined;
  for (const one of lane) {
    const before = seen.get(one.controlId);
    seen.set(one.controlId, one);
    const isLate = before !== undefined && last !== undefined && last.controlId !== one.controlId;
    if (before === undefined || !isLate) last = one;
    if (!isLate || isWithin(lost, before.at) || meets(lost, { from: before.at, to: one.at })) continue;
    const delay = delays.find((period) => !used.has(period) && mayDelay(period, one.at));
    if (delay !== undefined) used.add(delay);
    else {
      const text = `${one.controlId} came to ${one.outbound} again after ${last?.controlId}, which follows it`;
      found.push({ checker: name, at: one.at, text });
    }
  }
  return found;
}
