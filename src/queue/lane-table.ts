import type { LaneRow } from "../store/queue-contract.js";
import { hasWork, isLastChance, isSuspect, type Lane } from "./core/lane.js";

/** The lanes of one term, and which of them have something to do, in the order in which they came to have it. */
export class LaneTable {
  private readonly byId = new Map<number, Lane>();
  /** By stage and name. */
  private readonly byName = new Map<string, Map<string, Lane>>();
  private readonly ready = new Set<Lane>();
  private readonly waiting = new Set<Lane>();
  private readonly lastChances = new Set<Lane>();
  /** The suspect that was taken last. */
  private suspect: Lane | null = null;
  /** The one that has its last chance, or gets it when nothing is in flight any more. */
  private alone: Lane | null = null;
  private readonly now: () => number;
  private readonly maxReclaims: number;

  constructor(now: () => number, maxReclaims = Infinity) {
    this.now = now;
    this.maxReclaims = maxReclaims;
  }

  /** Takes in what the database says of a lane, in place of what was known. */
  load(row: LaneRow): Lane {
    const known = this.byId.get(row.id);
    const fresh = laneOf(row, this.now());
    if (known !== undefined) {
      // What was taken in by this term is known here before a reading shows it: positions are never given twice. And what was
      // asked to be put to rest may come to rest after it was read.
      const { appending, atRest, carefulUntil, held } = known;
      Object.assign(known, { ...fresh, tail: Math.max(known.tail, fresh.tail), appending, atRest, carefulUntil, held });
      this.touch(known);
      return known;
    }
    this.byId.set(fresh.id, fresh);
    const ofStage = this.byName.get(fresh.stage) ?? new Map<string, Lane>();
    this.byName.set(fresh.stage, ofStage.set(fresh.name, fresh));
    this.touch(fresh);
    return fresh;
  }

  get(id: number): Lane | undefined {
    return this.byId.get(id);
  }

  find(stage: string, name: string): Lane | undefined {
    return this.byName.get(stage)?.get(name);
  }

  all(): Iterable<Lane> {
    return this.byId.values();
  }

  /** Something about the lane has changed: it may have work now, or none any more. */
  touch(lane: Lane): void {
    for (const set of [this.ready, this.lastChances, this.waiting]) set.delete(lane);
    if (!hasWork(lane)) return;
    if (lane.readyAt > this.now()) this.waiting.add(lane);
    else if (isLastChance(lane, this.maxReclaims)) this.lastChances.add(lane);
    else this.ready.add(lane);
  }

  /**
   * Up to so many lanes of these stages that have work. Of those that are suspected of felling leaders, one at a time; and
   * one that has its last chance, alone.
   */
  take(
    most: number,
    stages: ReadonlySet<string>,
    howMany: (lanes: readonly Lane[]) => number = ({ length }) => length,
    admits: (lane: Lane) => boolean = () => true,
  ): readonly Lane[] {
    this.wakeWaiting();
    if (this.alone?.inFlight === true) return [];
    const mayGo = (lane: Lane): boolean => stages.has(lane.stage) && admits(lane);
    this.alone = [...this.lastChances].find(mayGo) ?? null;
    if (this.alone !== null) return this.isAnyInFlight() ? [] : this.hand([this.alone]);
    const taken: Lane[] = [];
    // One is in flight until the database knows what became of it.
    let suspects = this.suspect?.inFlight === true ? 1 : 0;
    for (const lane of this.ready) {
      if (taken.length >= most) break;
      if (!mayGo(lane)) continue;
      if (isSuspect(lane, this.maxReclaims)) {
        if (suspects++ > 0) continue;
      }
      taken.push(lane);
    }
    return this.hand(taken.slice(0, howMany(taken)));
  }

  private hand(taken: readonly Lane[]): readonly Lane[] {
    for (const lane of taken) {
      if (isSuspect(lane, this.maxReclaims)) this.suspect = lane;
      this.ready.delete(lane);
      this.lastChances.delete(lane);
      lane.inFlight = true;
    }
    return taken;
  }

  private isAnyInFlight(): boolean {
    for (const lane of this.byId.values()) if (lane.inFlight) return true;
    return false;
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
    carefulUntil: 0,
    readyAt: now + waitMs,
    paused,
    blocked,
    inFlight: false,
    held: false,
    appending: false,
    atRest: false,
  };
}
