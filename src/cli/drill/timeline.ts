/** One thing that was seen, counted from the moment the drill struck. */
export interface DrillEvent {
  readonly atMs: number;
  readonly what: string;
}

/** What a drill did, and what came of it. */
export interface DrillReport {
  readonly kind: "crash" | "stall" | "clean";
  readonly role: string;
  readonly oldLeader: string;
  readonly newLeader: string;
  readonly oldEpoch: number;
  readonly newEpoch: number;
  readonly events: readonly DrillEvent[];
  /** How long the role had no leader, as the database counted it; null where it cannot tell. */
  readonly databaseGapMs: number | null;
  readonly tookMs: number;
}

/** Collects what is seen, in the order of its moments. */
export class Timeline {
  private readonly seen: DrillEvent[] = [];
  private readonly onEvent: (event: DrillEvent) => void;
  private readonly now: () => number;
  private struckAt: number | null = null;

  constructor(onEvent: (event: DrillEvent) => void, now: () => number = () => performance.now()) {
    this.onEvent = onEvent;
    this.now = now;
  }

  get events(): readonly DrillEvent[] {
    return this.seen;
  }

  /** The moment that all others are counted from. */
  strike(what: string): void {
    this.struckAt = this.now();
    this.add(what, this.struckAt);
  }

  get isStruck(): boolean {
    return this.struckAt !== null;
  }

  /** Answers the milliseconds since the strike. */
  add(what: string, at: number = this.now()): number {
    const atMs = at - (this.struckAt ?? at);
    const event = { atMs: Math.round(atMs * 10) / 10, what };
    this.seen.push(event);
    this.onEvent(event);
    return event.atMs;
  }
}

/** `   13.1 ms  node-b answers as leader, epoch 4`. */
export function renderEvent({ atMs, what }: DrillEvent): string {
  return `${atMs.toFixed(1).padStart(9)} ms  ${what}`;
}

export function reportJson(report: DrillReport): Readonly<Record<string, unknown>> {
  return {
    kind: report.kind,
    role: report.role,
    old_leader: report.oldLeader,
    new_leader: report.newLeader,
    old_epoch: report.oldEpoch,
    new_epoch: report.newEpoch,
    events: report.events.map(({ atMs, what }) => ({ at_ms: atMs, what })),
    database_gap_ms: report.databaseGapMs,
    took_ms: report.tookMs,
  };
}
