import type { Logger } from "pino";
import type { Clock } from "../election/clock.js";
import { HoldfastError } from "../errors.js";
import { pause } from "../lifecycle/pause.js";
import { within } from "../lifecycle/within.js";
import type { AlertBook, AlertLook, AlertOrder, KnownAlerts } from "../store/alert-contract.js";
import type { MetricsBook } from "../store/metrics-contract.js";
import type { AlertMetrics } from "../telemetry/alert-metrics.js";
import { alertRound, type ToldChange } from "./alert-round.js";
import { Samples } from "./core/samples.js";
import type { Deliveries } from "./deliveries.js";
import { LoneAlerts } from "./lone-alerts.js";
import { tellAlone } from "./lone-telling.js";
import { asKept, type NotificationBody, notificationBodyOf } from "./notification.js";
import type { Notifier, Told } from "./notifiers/notifier.js";
import type { RuleSet } from "./rule-set.js";
import { SeriesReader, writeSeries } from "./series-text.js";
import type { SharedAlerts } from "./shared-alerts.js";

export interface WatchParts {
  readonly book: AlertBook;
  readonly copies: Pick<MetricsBook, "copies">;
  readonly rules: RuleSet;
  readonly shared: SharedAlerts;
  readonly deliveries: Deliveries;
  readonly notifiers: ReadonlyMap<string, Notifier>;
  readonly nodeId: string;
  readonly cluster: string;
  readonly intervalMs: number;
  /** Null keeps what was resolved. */
  readonly forgetAfterMs: number | null;
  readonly ownMetrics: () => Promise<string>;
  /** Whether another node leads `metrics_aggregator`, whose turn it is then as long as it comes. */
  readonly isOthersTurn: () => boolean;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: AlertMetrics;
  readonly trouble: (what: string, error: unknown) => void;
}

/** A little early is in time: two clocks that say every 5 s would else make it every 10. */
const earlyPart = 0.2;
/** So many intervals without a round, and it is anybody's turn; without an answer, and this node goes on by itself. */
const patientIntervals = 2;
/** A copy that is older says nothing of now; but a busy machine is not a silent one. */
const copyIntervals = 3;
const leastCopyLifetimeMs = 10_000;
const mostTries = 5;
/** Of one rule, over all rounds that are kept: some hundred megabytes in each node. More would end it, and the others with it. */
const mostPoints = 2_000_000;

/** Leaves this node's metrics and looks at the alerts at every interval, and evaluates when it is this node's turn. */
export class AlertWatch {
  private readonly parts: WatchParts;
  private readonly reader: SeriesReader;
  private lone: LoneAlerts | null = null;
  /** When the database last did all that was asked of it. */
  private workedAt: number;
  private failing = "";

  constructor(parts: WatchParts) {
    this.parts = parts;
    this.workedAt = parts.clock.mono();
    const { readings, backMs } = parts.rules;
    const keptRounds = Math.ceil(backMs / parts.intervalMs) + 1;
    this.reader = new SeriesReader(readings, Math.floor(mostPoints / keptRounds));
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, intervalMs, trouble } = this.parts;
    while (!signal.aborted) {
      const nextAt = clock.mono() + intervalMs;
      await this.tick().catch((error: unknown) => trouble("could not evaluate the alerts", error));
      await pause(clock, Math.max(0, nextAt - clock.mono()), signal);
    }
  }

  private async tick(): Promise<void> {
    const { book, deliveries, shared, clock, trouble } = this.parts;
    const at = clock.mono();
    const own = await this.parts.ownMetrics();
    try {
      await this.look((known) => book.exchange(own, known));
      await this.reunite();
      if (this.isDue()) await this.round(own);
      this.workedAt = at;
    } catch (error) {
      trouble("could not look at the alerts", error);
      await this.goOnAlone(own);
      return;
    }
    // Also where this node knows none of those who wait first: others may wait behind them, and somebody has to give them up.
    if ((shared.last?.waiting.length ?? 0) > 0) deliveries.kick();
  }

  private async look(ask: (known: KnownAlerts) => Promise<AlertLook>): Promise<void> {
    const { shared, clock, intervalMs } = this.parts;
    const askedAt = clock.mono();
    const look = await within(patientIntervals * intervalMs, ask(shared.known), () => {
      throw new HoldfastError("DATABASE_AWAY", "The database did not answer in time.");
    });
    shared.hear(look, askedAt);
  }

  private isDue(): boolean {
    const { shared, intervalMs, isOthersTurn } = this.parts;
    const ageMs = shared.last?.ageMs ?? null;
    if (ageMs === null) return true;
    // A clock that was set back would else stop everything for as long as that.
    if (ageMs < -intervalMs) return true;
    return ageMs >= intervalMs * (isOthersTurn() ? patientIntervals : 1 - earlyPart);
  }

  /** One evaluation for the whole cluster. Where somebody else was faster, it was his. */
  private async round(own: string): Promise<void> {
    const { copies, shared, rules, cluster, nodeId, clock, intervalMs, metrics, deliveries } = this.parts;
    const lifetimeMs = Math.max(copyIntervals * intervalMs, leastCopyLifetimeMs);
    const fresh = (await copies.copies()).filter(
      (copy) => !copy.isGone && copy.ageMs <= lifetimeMs && copy.nodeId !== nodeId,
    );
    const { series, refused } = this.reader.read([{ nodeId, text: own }, ...fresh]);
    const at = shared.nowAt(clock.mono());
    const samples = new Samples([...shared.rounds, { at, series }]);
    const outcome = alertRound(shared.alerts, { rules, samples, now: at, cluster, refused });
    this.tellFailing(outcome.failed);
    const kept = await this.keep({
      sample: { at, text: writeSeries(series), keptMs: rules.backMs },
      alerts: outcome.changed,
      gone: outcome.gone,
      notifications: notificationsOf(outcome.changes, cluster),
      forgetAfterMs: this.parts.forgetAfterMs,
    });
    if (kept === "overtaken") return;
    metrics.round();
    if (outcome.changes.length > 0) deliveries.kick();
  }

  private async keep(order: Partial<AlertOrder>): Promise<"kept" | "overtaken"> {
    const { book, shared, nodeId } = this.parts;
    const { version = 0, round = 0 } = shared.last ?? {};
    const nothing = { sample: null, alerts: [], gone: [], notifications: [], told: [], forgetAfterMs: null };
    return await book.keep({ nodeId, version, round, ...nothing, ...order });
  }

  /**
   * The database does not answer, or takes nothing, as one does that is read-only. After a while this node evaluates over its own
   * metrics, and tells by itself.
   */
  private async goOnAlone(own: string): Promise<void> {
    const { shared, clock, intervalMs, rules, cluster, nodeId, deliveries, notifiers, log } = this.parts;
    if (shared.last === null || clock.mono() - this.workedAt < patientIntervals * intervalMs) return;
    if (this.lone === null) {
      log.warn(
        { node_id: nodeId },
        "the database does not answer, or takes nothing: this node evaluates its own metrics, and tells alone",
      );
    }
    this.lone ??= new LoneAlerts(rules, cluster, shared);
    const read = this.reader.read([{ nodeId, text: own }]);
    const now = (): number => shared.nowAt(clock.mono());
    this.lone.advance(read, now());
    const tell = async (notifier: Notifier, body: NotificationBody): Promise<Told> =>
      await deliveries.tell(notifier, body);
    await tellAlone(this.lone.waiting, notifiers, tell, now);
  }

  /** The database answers again: what was told without it counts, and is not told again. */
  private async reunite(): Promise<void> {
    const { book, deliveries, shared, log, nodeId } = this.parts;
    for (let tries = 0; tries < mostTries; tries += 1) {
      const { lone } = this;
      const { unmarked } = deliveries;
      if (lone === null && unmarked.length === 0) return;
      const adopted = lone?.adoptedBy(shared.alerts) ?? { alerts: [], notifications: [], told: [] };
      const order = { ...adopted, told: [...adopted.told, ...unmarked] };
      // Written even where there is nothing to write: one that only answers is not back.
      if ((await this.keep(order)) === "kept") {
        if (lone !== null) log.info({ node_id: nodeId }, "the database is back: alerts are everybody's");
        this.lone = null;
        deliveries.unmarked = deliveries.unmarked.filter((each) => !unmarked.includes(each));
      }
      await this.look((known) => book.look(known));
    }
    throw new HoldfastError("UNKNOWN_OUTCOME", "Others were always faster.");
  }

  /** Once, until it is another trouble or none. */
  private tellFailing(failed: ReadonlyMap<string, string>): void {
    const said = [...failed].map(([rule, reason]) => `${rule}: ${reason}`).join("; ");
    // Of the same trouble another number is no news.
    const failing = said.replaceAll(/\d+/g, "0");
    if (failing !== "" && failing !== this.failing) {
      this.parts.log.warn({ node_id: this.parts.nodeId }, `rules of alerts cannot be evaluated: ${said}`);
    }
    this.failing = failing;
  }
}

/** One for each target, told by nobody yet. */
export function notificationsOf(changes: readonly ToldChange[], cluster: string): AlertOrder["notifications"] {
  return changes.flatMap(({ change, condition, targets }) => {
    const body = asKept(notificationBodyOf(change, condition, cluster));
    return targets.map((target) => ({ alertId: change.id, change: change.number, target, body, told: false }));
  });
}
