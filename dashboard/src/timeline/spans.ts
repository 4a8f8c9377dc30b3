import type { RoleLeader, Transition } from "../api/cluster.js";

/** A stretch of a role's time. Milliseconds of the epoch; `from` is -Infinity where the beginning is not known. */
export type Span = Term | Gap;

export interface Term {
  readonly kind: "term";
  readonly node: string;
  readonly epoch: number;
  readonly from: number;
  readonly to: number;
  /** It goes on: `to` is now. */
  readonly open: boolean;
}

/** Nobody led. */
export interface Gap {
  readonly kind: "gap";
  readonly from: number;
  readonly to: number;
  readonly open: boolean;
  readonly reason: string;
  readonly before: string | null;
  readonly after: string | null;
  /** As the database told it, which is finer than a drawing; of an open one, as long as it is by now. */
  readonly lengthMs: number;
}

export interface RoleRow {
  readonly role: string;
  /** In the order of time, without overlaps. */
  readonly spans: readonly Span[];
}

/**
 * One row a role, from what the history says and who leads now. An election says when its term began and for how long
 * nobody had led before; a release says when a term ended. Between the two nothing is made up.
 */
export function spansOf(
  history: readonly Transition[],
  leaders: readonly RoleLeader[],
  leaderlessSince: Readonly<Record<string, number>>,
  now: number,
): readonly RoleRow[] {
  const roles = new Set([...leaders.map(({ role }) => role), ...history.map(({ role }) => role)]);
  return [...roles].toSorted().map((role) => {
    const changes = history.filter((change) => change.role === role).toReversed();
    const leader = leaders.find((line) => line.role === role);
    return { role, spans: rowOf(changes, leader, leaderlessSince[role], now) };
  });
}

/** What is known of a role on the way through its history: who leads since when, or since when nobody does. */
interface Tale {
  readonly spans: Span[];
  reign: { readonly node: string; readonly epoch: number; readonly from: number } | undefined;
  vacant: { readonly from: number; readonly reason: string; readonly before: string | null } | undefined;
}

function rowOf(
  changes: readonly Transition[],
  leader: RoleLeader | undefined,
  leaderlessSince: number | undefined,
  now: number,
): readonly Span[] {
  const tale: Tale = { spans: [], reign: undefined, vacant: undefined };
  for (const change of changes) {
    beginWithTheOneBefore(tale, change);
    if (change.event === "elected") elect(tale, change);
    else vacate(tale, change);
  }
  if (leader === undefined) return tale.spans;
  if (leader.leader_id !== null) goOn(tale, leader.leader_id, leader, now);
  else if (leader.leader_epoch > 0) stayVacant(tale, leaderlessSince, now);
  return tale.spans;
}

/** The oldest change that is known names the leader before it, whose term began at a time that is not known. */
function beginWithTheOneBefore(tale: Tale, change: Transition): void {
  if (tale.spans.length > 0 || tale.reign !== undefined || tale.vacant !== undefined) return;
  if (change.previous_node_id === null) return;
  const epoch = change.event === "elected" ? change.epoch - 1 : change.epoch;
  tale.reign = { node: change.previous_node_id, epoch, from: Number.NEGATIVE_INFINITY };
}

function elect(tale: Tale, change: Transition): void {
  const at = change.at * 1000;
  const lengthMs = (change.gap_seconds ?? 0) * 1000;
  // A clock that was stepped back must not turn the row around.
  const from = Math.min(tale.vacant?.from ?? Math.max(at - lengthMs, tale.reign?.from ?? at - lengthMs), at);
  const reason = tale.vacant?.reason ?? change.reason;
  const before = tale.vacant?.before ?? change.previous_node_id;
  endReign(tale, from);
  if (change.reason !== "first")
    tale.spans.push({ kind: "gap", from, to: at, open: false, reason, before, after: change.node_id, lengthMs });
  tale.vacant = undefined;
  tale.reign = change.node_id === null ? undefined : { node: change.node_id, epoch: change.epoch, from: at };
}

function vacate(tale: Tale, change: Transition): void {
  const from = change.at * 1000;
  endReign(tale, from);
  tale.vacant ??= { from, reason: change.reason, before: change.previous_node_id };
}

/** The history may come a moment later than the leader: the new term is shown, and its gap when that is told. */
function goOn(tale: Tale, node: string, leader: RoleLeader, now: number): void {
  const begun = (leader.acquired_at ?? now / 1000) * 1000;
  if (tale.reign !== undefined && tale.reign.epoch < leader.leader_epoch) endReign(tale, begun);
  const reign = tale.reign ?? { node, epoch: leader.leader_epoch, from: begun };
  tale.spans.push({ kind: "term", ...reign, to: Math.max(now, reign.from), open: true });
}

function stayVacant(tale: Tale, leaderlessSince: number | undefined, now: number): void {
  const from = tale.vacant?.from ?? (leaderlessSince === undefined ? now : leaderlessSince * 1000);
  const before = tale.vacant?.before ?? tale.reign?.node ?? null;
  const reason = tale.vacant?.reason ?? "expired";
  endReign(tale, from);
  tale.spans.push({ kind: "gap", from, to: now, open: true, reason, before, after: null, lengthMs: now - from });
}

function endReign(tale: Tale, at: number): void {
  const { reign } = tale;
  if (reign !== undefined && at > reign.from) tale.spans.push({ kind: "term", ...reign, to: at, open: false });
  tale.reign = undefined;
}
