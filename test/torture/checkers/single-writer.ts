import type { Checker, Violation } from "../checker.js";
import type { HistoryEvent, LeadershipEvent, WitnessEvent, WriteEvent } from "../history.js";
import { groupBy } from "./groups.js";
import { isWithin, lostPeriodsOf, meets, type Period } from "./periods.js";

const name = "single writer";

/**
 * G1, by two accounts: what the writers were told, and what a trigger put on record within their transactions. Rows of that second
 * witness are in the order in which they took the lock that every writer needs, hence in the order of their commits.
 */
export const singleWriter: Checker = {
  name,
  promise:
    "No transaction of an epoch commits after a higher epoch of its role has, and no write is undone by another (G1).",
  check(history) {
    const lost = lostPeriodsOf(history);
    const witnesses = history.filter((event) => event.kind === "witness");
    const writes = settledWrites(history);
    return [
      ...[...groupBy(witnesses, ({ role }) => role).values()].flatMap((rows) => brokenChain(rows, writes)),
      ...disagreements(writes, witnesses, lost),
      ...[...groupBy(writes, ({ role }) => role).values()].flatMap((own) => overwritten(own, lost)),
      ...lateCommits(history, writes, lost),
    ];
  },
};

/** A write is told as unknown before its commit, and again when its outcome is known: the last word counts. */
function settledWrites(history: readonly HistoryEvent[]): readonly WriteEvent[] {
  const writes = new Map<string, WriteEvent>();
  for (const event of history) {
    if (event.kind === "write") writes.set(`${event.by} ${keyOf(event)} ${event.from}`, event);
  }
  return [...writes.values()];
}

/**
 * A leader may itself overtake a commit of its own that it got no answer to, so within an epoch only an acknowledged write must have been
 * read by the next. Over a change of epochs nothing may be under way any more.
 */
function brokenChain(rows: readonly WitnessEvent[], writes: readonly WriteEvent[]): readonly Violation[] {
  const found: Violation[] = [];
  const open = new Set(writes.filter(({ outcome }) => outcome === "unknown").map(keyOf));
  const answered = new Set(writes.filter(({ outcome }) => outcome === "done").map(keyOf));
  const isSure = (key: string) => answered.has(key) && !open.has(key);
  let highest = 0n;
  let before: WitnessEvent | undefined;
  for (const row of rows.toSorted((one, other) => one.n - other.n)) {
    const say = (why: string) => found.push({ checker: name, at: row.at, text: `${told(row)} (row ${row.n}) ${why}` });
    const epoch = BigInt(row.epoch);
    if (epoch < highest) say(`committed after epoch ${highest} had`);
    if (epoch > highest) highest = epoch;
    if (before !== undefined && row.before !== before.after)
      say(`found ${row.before}, and ${before.after} was written`);
    const mustBeRead = before === undefined || before.epoch !== row.epoch || isSure(keyOf(before));
    if (mustBeRead && row.after !== row.before + 1) say(`added one to something else than the ${row.before} it found`);
    before = row;
  }
  return found;
}

/** What was acknowledged is there, and what was refused is not. */
function disagreements(
  writes: readonly WriteEvent[],
  witnesses: readonly WitnessEvent[],
  lost: readonly Period[],
): readonly Violation[] {
  const there = new Set(witnesses.map(keyOf));
  const roles = new Set(witnesses.map(({ role }) => role));
  const possible = new Set(writes.filter(({ outcome }) => outcome !== "refused").map(keyOf));
  return writes.flatMap((write): Violation[] => {
    const { outcome, role, after, to } = write;
    const say = (why: string) => [{ checker: name, at: to, text: `${told(write)} ${why}` }];
    if (after === null || !roles.has(role)) return [];
    if (outcome === "done" && !there.has(keyOf(write)) && !meets(lost, write)) {
      return say("was acknowledged, and the witness has not seen it");
    }
    const isForbidden = outcome === "refused" && there.has(keyOf(write)) && !possible.has(keyOf(write));
    return isForbidden ? say("was refused, and the witness has seen it") : [];
  });
}

/** Two that read the same and were both acknowledged: one of them is undone. */
function overwritten(writes: readonly WriteEvent[], lost: readonly Period[]): readonly Violation[] {
  const kept = writes.filter((write) => write.outcome === "done" && write.before !== null && !meets(lost, write));
  return [...groupBy(kept, ({ before }) => before).values()].flatMap(([first, ...others]) =>
    others.map((other) => ({
      checker: name,
      at: other.to,
      text: `${told(other)} and ${first === undefined ? "" : told(first)} both read ${other.before}`,
    })),
  );
}

/** A write that began when a later epoch was known to somebody can only have committed after it. */
function lateCommits(
  history: readonly HistoryEvent[],
  writes: readonly WriteEvent[],
  lost: readonly Period[],
): readonly Violation[] {
  const elections = history.filter(
    (event): event is LeadershipEvent => event.kind === "elected" && !isWithin(lost, event.at),
  );
  const byRole = groupBy(elections, ({ role }) => role);
  return writes.flatMap((write): Violation[] => {
    if (write.outcome !== "done" || meets(lost, write)) return [];
    const epoch = BigInt(write.epoch);
    const later = byRole.get(write.role)?.find((one) => one.at < write.from && BigInt(one.epoch) > epoch);
    if (later === undefined) return [];
    const why = `began ${(write.from - later.at).toFixed(0)} ms after ${later.by} was elected under ${later.epoch}`;
    return [{ checker: name, at: write.to, text: `${told(write)} ${why}, and was acknowledged` }];
  });
}

const keyOf = ({ role, epoch, after }: WriteEvent | WitnessEvent): string => `${role} ${epoch} ${after}`;

function told({ role, epoch, before, after, by }: WriteEvent | WitnessEvent): string {
  return `${role}: ${before} -> ${after} under epoch ${epoch} (${by})`;
}
