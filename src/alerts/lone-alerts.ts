import type { AlertOrder, Notification, StoredAlert } from "../store/alert-contract.js";
import { type Alerts, alertRound, type RoundOutcome, type ToldChange } from "./alert-round.js";
import { type Round, Samples } from "./core/samples.js";
import { asKept, notificationBodyOf } from "./notification.js";
import type { RuleSet } from "./rule-set.js";
import type { ReadSeries } from "./series-text.js";
import type { SharedAlerts } from "./shared-alerts.js";

/** Something to be told to one target, by this node alone. */
export interface LoneNotification extends Notification {
  /** By the database's clock, as far as this node can tell. */
  toldAt: number | null;
}

interface LoneChange extends ToldChange {
  readonly notifications: readonly LoneNotification[];
}

/** What is to be written of it, once the database answers. */
export type Adoption = Pick<AlertOrder, "alerts" | "notifications" | "told">;

/**
 * The alerts as one node sees them while the database does not answer: it goes on from what it knew, with its own metrics alone, and
 * tells by itself. The ids are those that all nodes have for the same, so receivers can drop what they have.
 */
export class LoneAlerts {
  private readonly rules: RuleSet;
  private readonly cluster: string;
  private alerts: Alerts;
  private rounds: readonly Round[];
  private readonly changes: LoneChange[] = [];
  /** Alerts whose conditions have held by this node's own series. */
  private readonly witnessed = new Set<string>();
  /** What was to be told when the database went away: nobody knows whether somebody still did. */
  private readonly inherited: readonly LoneNotification[];

  constructor(rules: RuleSet, cluster: string, shared: SharedAlerts) {
    this.rules = rules;
    this.cluster = cluster;
    this.alerts = shared.alerts;
    this.rounds = shared.rounds;
    this.inherited = (shared.last?.waiting ?? []).map((notification) => ({ ...notification, toldAt: null }));
  }

  /**
   * Evaluates over this node's series of now. Others' are stale; but that they cannot be seen does not mean that what they showed
   * is over, so what fires stays until this node has seen with its own eyes how it began and ended.
   */
  advance({ series, refused }: ReadSeries, now: number): void {
    this.rounds = [...this.rounds, { at: now, series }].filter(({ at }) => at >= now - this.rules.backMs);
    const { rules, cluster } = this;
    const outcome = alertRound(this.alerts, { rules, samples: new Samples(this.rounds), now, cluster, refused });
    const seen = outcome.changes.filter(({ change: { kind, id } }) => kind !== "resolved" || this.witnessed.has(id));
    this.alerts = this.after(outcome, seen);
    for (const each of seen) {
      const { change, condition, targets } = each;
      const body = asKept(notificationBodyOf(change, condition, cluster));
      const notifications = targets.map((target) => ({
        alertId: change.id,
        change: change.number,
        target,
        body,
        toldAt: null,
      }));
      this.changes.push({ ...each, notifications });
    }
  }

  /** The alerts after a round in which only these changes count: the others are as they were. */
  private after({ alerts, changes, failed }: RoundOutcome, seen: readonly ToldChange[]): Alerts {
    for (const { id, rule, state } of alerts.values()) {
      if (state !== "resolved" && !failed.has(rule)) this.witnessed.add(id);
    }
    const unseen = new Set(changes.filter((one) => !seen.includes(one)).map(({ change }) => change.id));
    return new Map([...alerts].map(([id, alert]) => [id, unseen.has(id) ? (this.alerts.get(id) ?? alert) : alert]));
  }

  /** What was not told yet, in order. */
  get waiting(): readonly LoneNotification[] {
    return [...this.inherited, ...this.changes.flatMap(({ notifications }) => notifications)].filter(
      (notification) => !isTold(notification),
    );
  }

  /**
   * How what the database has becomes what was told: an alert that is as it was left here stays, and what was told of it counts
   * as told; one that has changed there since anything was told of it here stays, too; any other is as it was left here, and its changes
   * are numbered on. What holds now, the next round finds out.
   */
  adoptedBy(shared: Alerts): Adoption {
    const told = this.inherited.filter(isTold).map(keyOf);
    const alerts: StoredAlert[] = [];
    const notifications: (Notification & { readonly told: boolean })[] = [];
    for (const id of new Set(this.changes.map(({ change }) => change.id))) {
      const changes = this.changes.filter(({ change }) => change.id === id);
      const theirs = shared.get(id);
      const last = changes.at(-1) as LoneChange;
      const ours = this.alerts.get(id) ?? { ...last.change.alert, condition: last.condition, targets: last.targets };
      if (theirs !== undefined && isFiring(theirs) === isFiring(ours)) {
        told.push(
          ...last.notifications
            .filter(isTold)
            .map((notification) => ({ ...keyOf(notification), change: theirs.changes })),
        );
        continue;
      }
      if (theirs !== undefined && changedAt(theirs) >= lastToldAt(changes)) continue;
      const before = theirs?.changes ?? 0;
      alerts.push({ ...ours, changes: before + changes.length });
      for (const [index, each] of changes.entries()) {
        notifications.push(...each.notifications.map((notification) => renumbered(notification, before + index + 1)));
      }
    }
    return { alerts, notifications, told };
  }
}

const isFiring = ({ state }: StoredAlert): boolean => state === "firing";
const isTold = ({ toldAt }: LoneNotification): boolean => toldAt !== null;
const keyOf = ({ alertId, change, target }: Notification) => ({ alertId, change, target });

const changedAt = ({ firedAt, acknowledged, resolvedAt }: StoredAlert): number =>
  Math.max(firedAt ?? 0, acknowledged?.at ?? 0, resolvedAt ?? 0);

const lastToldAt = (changes: readonly LoneChange[]): number =>
  Math.max(
    ...changes.flatMap(({ change, notifications }) => [change.at, ...notifications.map(({ toldAt }) => toldAt ?? 0)]),
  );

function renumbered(
  { toldAt, ...notification }: LoneNotification,
  change: number,
): Notification & { readonly told: boolean } {
  const body = { ...(notification.body as Record<string, never>), change };
  return { ...notification, change, body, told: toldAt !== null };
}
