import type { Clock } from "../election/clock.js";
import { pause } from "../lifecycle/pause.js";
import { Signal } from "../lifecycle/signal.js";
import type { EventCursor, EventReading, JobBook, StoredEvent } from "../store/job-contract.js";

export type { EventCursor, EventReading, StoredEvent } from "../store/job-contract.js";

export interface EventFeedParts {
  readonly book: Pick<JobBook, "events">;
  readonly clock: Clock;
  readonly trouble: (what: string, error: unknown) => void;
}

/** How often the database is asked while somebody listens and this node has committed nothing itself. */
const lookMs = 500;
const longestPauseMs = 5_000;
const mostRead = 500;
/** So many are kept for listeners that come back, or are a little behind: only those further behind ask the database. */
const mostRecent = 2_000;

/** Somebody who listens. While there is none, nothing is read. */
export interface Following extends Disposable {
  /** Resolves when the feed knows where it stands: whatever is committed after this is seen. */
  readonly ready: Promise<void>;
}

/**
 * The events as they are committed, followed by one reader a node for any number of listeners. Each of those pulls what follows
 * its own cursor, so that a slow one holds up nobody, and nothing is kept for it.
 */
export class EventFeed {
  private readonly parts: EventFeedParts;
  private readonly changed: Signal;
  private readonly watchers = new Set<(event: StoredEvent | null) => void>();
  private readonly advancing = new Set<() => void>();
  private followers = 0;
  private reading: Promise<void> | null = null;
  private started: { readonly promise: Promise<void>; readonly resolve: () => void } | null = null;
  private position: EventCursor | null = null;
  private recent: StoredEvent[] = [];

  constructor(parts: EventFeedParts) {
    this.parts = parts;
    this.changed = new Signal(parts.clock);
  }

  /** How many listen. */
  get listeners(): number {
    return this.followers;
  }

  follow(): Following {
    this.followers += 1;
    this.started ??= withResolver();
    const { promise: ready } = this.started;
    this.reading ??= this.read();
    let isOver = false;
    return {
      ready,
      [Symbol.dispose]: () => {
        if (isOver) return;
        isOver = true;
        this.followers -= 1;
        if (this.followers === 0) this.changed.notify();
      },
    };
  }

  /** Something was committed by this node: there may be events. */
  wake(): void {
    if (this.followers > 0) this.changed.notify();
  }

  /** What follows the cursor: from memory where it is there, else from the database. */
  async after(cursor: EventCursor | null): Promise<EventReading> {
    const { position, recent } = this;
    if (position !== null && cursor?.generation === position.generation && cursor.id <= position.id) {
      const oldest = recent[0]?.id ?? position.id + 1;
      if (cursor.id >= oldest - 1) {
        const { generation } = position;
        const start = cursor.id - oldest + 1;
        return { kind: "events", generation, events: recent.slice(start, start + mostRead) };
      }
    }
    return await this.parts.book.events(cursor, mostRead);
  }

  /** For whoever could not read. */
  async rest(ms: number, signal: AbortSignal): Promise<void> {
    await pause(this.parts.clock, ms, signal);
  }

  /** True when there may be more than the cursor has seen; false after so long, or when the signal is aborted. */
  async advanced(cursor: EventCursor, ms: number, signal: AbortSignal): Promise<boolean> {
    const { position } = this;
    const isBehind = position !== null && (position.generation !== cursor.generation || position.id > cursor.id);
    if (isBehind || signal.aborted) return isBehind;
    return await new Promise<boolean>((resolve) => {
      const end = (isMore: boolean): void => {
        takeBack();
        this.advancing.delete(more);
        signal.removeEventListener("abort", none);
        resolve(isMore);
      };
      const more = (): void => end(true);
      const none = (): void => end(false);
      const takeBack = this.parts.clock.wakeAt(this.parts.clock.mono() + ms, none);
      this.advancing.add(more);
      signal.addEventListener("abort", none, { once: true });
    });
  }

  /** Each event as it comes, while somebody follows; null where some may have been missed. */
  watch(watcher: (event: StoredEvent | null) => void): Disposable {
    this.watchers.add(watcher);
    return { [Symbol.dispose]: () => this.watchers.delete(watcher) };
  }

  private async read(): Promise<void> {
    let pauseMs = lookMs;
    while (this.followers > 0) {
      try {
        const isMore = await this.look();
        this.started?.resolve();
        pauseMs = lookMs;
        if (isMore) continue;
      } catch (error) {
        if (pauseMs === lookMs) this.parts.trouble("the events cannot be read", error);
        pauseMs = Math.min(2 * pauseMs, longestPauseMs);
      }
      if (this.followers > 0) await this.changed.wait(pauseMs);
    }
    // Whoever comes next begins where the stream is then.
    this.reading = null;
    this.started = null;
    this.position = null;
    this.recent = [];
  }

  /** True where there may be more at once. */
  private async look(): Promise<boolean> {
    const reading = await this.parts.book.events(this.position, mostRead);
    const { generation } = reading;
    if (reading.kind === "reset") {
      this.position = { generation, id: reading.last };
      this.recent = [];
      this.tell([null]);
      return false;
    }
    const last = reading.events.at(-1);
    if (last === undefined) return false;
    this.position = { generation, id: last.id };
    this.recent = [...this.recent, ...reading.events].slice(-mostRecent);
    this.tell(reading.events);
    return reading.events.length === mostRead;
  }

  private tell(events: readonly (StoredEvent | null)[]): void {
    for (const watcher of this.watchers) for (const event of events) watcher(event);
    for (const done of this.advancing) done();
  }
}

function withResolver(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
