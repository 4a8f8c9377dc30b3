import type { AlertLook, Notification, StoredAlert } from "../store/alert-contract.js";
import type { Alerts } from "./alert-round.js";
import type { Round } from "./core/samples.js";
import { readSeries } from "./series-text.js";

interface Seen {
  readonly version: number;
  readonly round: number;
  readonly now: number;
  /** On this node's own clock, when that was the database's time. */
  readonly mono: number;
  readonly ageMs: number | null;
  readonly waiting: readonly Notification[];
}

/** What this node knows of the alerts that all share, as of its last look: enough to go on by itself. */
export class SharedAlerts {
  alerts: Alerts = new Map();
  rounds: readonly Round[] = [];
  last: Seen | null = null;
  private sample: string | null = null;
  private readonly backMs: number;

  constructor(backMs: number) {
    this.backMs = backMs;
  }

  /** What need not be sent again. */
  get known() {
    return { version: this.last?.version ?? null, sample: this.sample, backMs: this.backMs };
  }

  /** `mono`: when it was asked for, so that the database's time is never guessed too early. */
  hear(look: AlertLook, mono: number): void {
    const { version, round, now, ageMs, alerts, waiting, samples } = look;
    if (alerts !== null) this.alerts = byId(alerts);
    const added = samples.map(({ at, text }) => ({ at, series: readSeries(text) }));
    this.rounds = [...this.rounds, ...added].filter(({ at }) => at >= now - this.backMs);
    this.sample = samples.at(-1)?.id ?? this.sample;
    this.last = { version, round, now, mono, ageMs, waiting };
  }

  /** The database's time, by how long ago it was last heard of. */
  nowAt(mono: number): number {
    return this.last === null ? 0 : this.last.now + (mono - this.last.mono);
  }
}

export const byId = (alerts: readonly StoredAlert[]): Alerts => new Map(alerts.map((alert) => [alert.id, alert]));
