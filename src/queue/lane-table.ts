import type { LaneRow } from "../store/queue-contract.js";
import { hasWork, isSuspect, type Lane } from "./core/lane.js";

/** The lanes of one term, and which of them have something to do, in the order in which they came to have it. */
export class LaneTable {
  private readonly byId = new Map<number, Lane>();
  private readonly byName = new Map<string, Lane>();
  private readonly ready = new Set<Lane>();
  private readonly waiting = new Set<Lane>();
  private readonly now: () => number;

  constructor(now: () => number) {
    this.now = now;
  }

  /** Takes in what the database says of a lane, in place of what was known. */
  load(row: LaneRow): Lane {
    const known = this.byId.get(row.id);
    const fresh = laneOf(row, this.now());
    if (known !== undefined) {
      // What was taken in by this term is known here before a reading shows it: positions are never given twice. And what was
      // asked to be put to rest may come to rest after it was read.
      const { appending, atRest } = known;
      Object.assign(known, { ...fresh, tail: Math.max(known.tail, fresh.tail), appending, atRest });
      this.touch(known);
      return known;
    }
    this.byId.set(fresh.id, fresh);
    this.byName.set(nameOf(fresh.stage, fresh.name), fresh);
    this.touch(fresh);
    return fresh;
  }

  get(id: number): Lane | undefined {
    return this.byId.get(id);
  }

  find(stage: string, name: string): Lane | undefined {
    return this.byName.get(nameOf(stage, name));
  }

  all(): Iterable<Lane> {
    return this.byId.values();
  }

  /** Something about the lane has changed: it may have work now, or none any more. */
  touch(lane: Lane): void {
    this.ready.delete(lane);
    this.waiting.delete(lane);
    if (!hasWork(lane)) return;
    if (lane.readyAt > this.now()) this.waiting.add(lane);
    else this.ready.add(lane);
  }

  /** Up to so many lanes of these stages that have work. Of those that are suspected of felling leaders, one at a time. */
  take(most: number, stages: ReadonlySet<string>, suspectInFlight: boolean): readonly Lane[] {
    this.wakeWaiting();
    const taken: Lane[] = [];
    let suspects = suspectInFlight ? 1 : 0;
    for (const lane of this.ready) {
      if (taken.length >= most) break;
      if (!stages.has(lane.stage)) continue;
      if (isSuspect(lane) && suspects++ > 0) continue;
      taken.push(lane);
    }
    for (const lane of taken) {
      this.ready.delete(lane);
      lane.inFlight = true;
    }
    return taken;
  }

  /** How long until a lane that waits has work; null where none does. */
  nextWakeMs(): number | null {
    let next: number | null = null;
    for (const { readyAt } of this.waiting) next = next === null ? readyAt : Math.min(next, readyAt);
    return next === null ? null : Math.max(0, next - this.now());
  }

  private wakeWaiting(): void {
    const now = this.now();
    for (const lane of this.waiting) if (lane.readyAt <= now) this.touch(lane);
  }
}

function nameOf(stage: string, lane: string): string {
  return `${stage}\n${lane}`;
}

function laneOf(row: LaneRow, now: number): Lane {
  const { id, stage, lane, done, tail, attempts, reclaims, waitMs, paused, blocked } = row;
  return {
    id,
    stage,
    name: lane,
    done,
    reached: done,
    tail,
    attempts,
    reclaims,
    readyAt: now + waitMs,
    paused,
    blocked,
    inFlight: false,
    appending: false,
    atRest: false,
  };
}
