import type { AlertLook, Notification, StoredAlert } from "../store/alert-contract.js";
import type { Alerts } from "./alert-round.js";
import type { Round } from "./core/samples.js";
import { readSeries, type Series } from "./series-text.js";

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
  private names: ReadonlyMap<string, string> = new Map();
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
    const added = samples.map(({ at, text }) => ({ at, series: this.named(readSeries(text)) }));
    this.rounds = [...this.rounds, ...added].filter(({ at }) => at >= now - this.backMs);
    this.sample = samples.at(-1)?.id ?? this.sample;
    this.last = { version, round, now, mono, ageMs, waiting };
  }

  /** By the names of the round before: they come again in every round, and are longer than all else that is kept of it. */
  private named(series: Series): Series {
    const pairs = [...series].map(([name, value]) => [this.names.get(name) ?? ofItsOwn(name), value] as const);
    this.names = new Map(pairs.map(([name]) => [name, name]));
    return new Map(pairs);
  }

  /** The database's time, by how long ago it was last heard of. */
  nowAt(mono: number): number {
    return this.last === null ? 0 : this.last.now + (mono - this.last.mono);
  }
}

/** A part of a text keeps the whole of it in memory, and this one stays for as long as there is such a series. */
const ofItsOwn = (name: string): string => Buffer.from(name).toString();

export const byId = (alerts: readonly StoredAlert[]): Alerts => new Map(alerts.map((alert) => [alert.id, alert]));
