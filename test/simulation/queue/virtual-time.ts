import type { Random } from "../random.js";
import { QueueViolation } from "./violation.js";

interface Event {
  readonly time: number;
  readonly act: () => void;
}

const mostInASecond = 30_000;
/** Events this close to each other may happen in one turn of a process's loop, with nothing awaited in between. */
const oneTurnMs = 0.5;

/**
 * The time of a simulated queue, and what happens in it. The code that is simulated is asynchronous, so after each event
 * everything that follows from it runs to its end before the next one comes.
 */
export class VirtualTime {
  now = 0;
  events = 0;
  /** Called when all that follows from an event is done. */
  afterEvent: () => void = () => undefined;
  private readonly random: Random;
  /** In order of their time, the next one last. */
  private readonly agenda: Event[] = [];
  private second = 0;
  private inSecond = 0;

  constructor(random: Random) {
    this.random = random;
  }

  after(delayMs: number, act: () => void): void {
    this.at(this.now + delayMs, act);
  }

  /** What is planned for the same moment happens in the order in which it was planned. */
  at(time: number, act: () => void): void {
    const event = { time: Math.max(time, this.now), act };
    let low = 0;
    let high = this.agenda.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.agenda[middle]?.time ?? 0) > event.time) low = middle + 1;
      else high = middle;
    }
    this.agenda.splice(low, 0, event);
  }

  async runUntil(time: number, isOver: () => boolean = () => false): Promise<void> {
    while (this.agenda.length > 0 && (this.agenda.at(-1)?.time ?? 0) <= time && !isOver()) {
      this.happen();
      while (this.isNextClose() && this.random.chance(0.3)) this.happen();
      await settled();
      this.afterEvent();
    }
    if (!isOver()) this.now = Math.max(this.now, time);
  }

  private isNextClose(): boolean {
    const next = this.agenda.at(-1);
    return next !== undefined && next.time - this.now <= oneTurnMs;
  }

  private happen(): void {
    const event = this.agenda.pop();
    if (event === undefined) return;
    this.now = event.time;
    this.events += 1;
    const second = Math.floor(this.now / 1_000);
    this.inSecond = second === this.second ? this.inSecond + 1 : 0;
    this.second = second;
    if (this.inSecond > mostInASecond)
      throw new QueueViolation("livelock", `${mostInASecond} events in second ${second}`);
    event.act();
  }
}

/** Every promise that can go on has gone on by then, also of who waited for the end of this turn of the loop. */
async function settled(): Promise<void> {
  for (let turns = 0; turns < 2; turns++) {
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
  }
}
