import type { Random } from "./random.js";
import type { Trace } from "./trace.js";
import { Violation } from "./violation.js";

interface Event {
  readonly time: number;
  readonly order: number;
  readonly act: () => void;
}

/** More events than this at one instant, or in one second, and somebody is busy for nothing. */
const mostAtOnce = 2_000;
const mostInASecond = 40_000;

/**
 * True time, and what happens in it. Nobody in the simulation can read this clock; it decides only what comes first.
 * Events of the same instant happen in the order in which they were planned.
 */
export class World {
  now = 0;
  events = 0;
  readonly random: Random;
  readonly trace: Trace;
  /** Called after every event: here the invariants are checked. */
  afterEvent: () => void = () => undefined;
  private readonly heap: Event[] = [];
  private order = 0;
  private atOnce = 0;
  private second = 0;
  private inSecond = 0;

  constructor(random: Random, trace: Trace) {
    this.random = random;
    this.trace = trace;
  }

  after(delayMs: number, act: () => void): void {
    this.at(this.now + delayMs, act);
  }

  at(time: number, act: () => void): void {
    const event = { time: Math.max(time, this.now), order: this.order++, act };
    const { heap } = this;
    let index = heap.length;
    heap.push(event);
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = heap[parentIndex]!;
      if (!isBefore(event, parent)) break;
      heap[index] = parent;
      index = parentIndex;
    }
    heap[index] = event;
  }

  runUntil(time: number): void {
    for (let next = this.heap[0]; next !== undefined && next.time <= time; next = this.heap[0]) {
      this.removeFirst();
      this.advance(next.time);
      next.act();
      this.afterEvent();
    }
    this.now = Math.max(this.now, time);
  }

  private advance(time: number): void {
    this.atOnce = time === this.now ? this.atOnce + 1 : 0;
    this.now = time;
    this.events += 1;
    const second = Math.floor(time / 1000);
    this.inSecond = second === this.second ? this.inSecond + 1 : 0;
    this.second = second;
    if (this.atOnce > mostAtOnce) throw new Violation("livelock", `${mostAtOnce} events at ${time} ms`);
    if (this.inSecond > mostInASecond) throw new Violation("livelock", `${mostInASecond} events in second ${second}`);
  }

  private removeFirst(): void {
    const { heap } = this;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1;
      if (!isBefore(heap[child]!, last)) break;
      heap[index] = heap[child]!;
      index = child;
    }
    heap[index] = last;
  }
}

function isBefore(left: Event, right: Event): boolean {
  return left.time < right.time || (left.time === right.time && left.order < right.order);
}
