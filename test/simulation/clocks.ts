import type { Instant } from "../../src/election/core/trust.js";
import type { Random } from "./random.js";

/** Clocks run wrong by up to 1 %: the most that the settings' margin covers. The ends of the range are where it hurts. */
function anyRate(random: Random, atTheEnds: boolean): number {
  return atTheEnds || random.chance(0.5) ? random.pick([0.99, 1.01]) : random.between(0.99, 1.01);
}

const unixMs = 1_750_000_000_000;

/** One node's three clocks. True time goes in, what the node reads comes out. */
export class NodeClock {
  private readonly rate: number;
  private readonly wallRate: number;
  private readonly monoBase: number;
  private readonly bootBase: number;
  private wallBase: number;
  private suspendedMs = 0;
  private suspendedSince: number | null = null;

  constructor(random: Random, atTheEnds: boolean) {
    this.rate = anyRate(random, atTheEnds);
    // The wall clock is slewed by NTP: it need not run at the rate of the monotonic one.
    this.wallRate = atTheEnds || random.chance(0.5) ? this.rate : random.between(0.995, 1.005);
    this.monoBase = random.between(0, 1e6);
    this.bootBase = this.monoBase + random.between(0, 1e6);
    this.wallBase = unixMs + random.between(-3_600_000, 3_600_000);
  }

  read(time: number): Instant {
    return { mono: this.mono(time), wall: this.wall(time), boot: this.boot(time) };
  }

  mono(time: number): number {
    const awake = (this.suspendedSince ?? time) - this.suspendedMs;
    return this.monoBase + awake * this.rate;
  }

  /** Whole milliseconds, as Date.now() gives them. */
  wall(time: number): number {
    return Math.floor(this.wallBase + time * this.wallRate);
  }

  /** In hundredths of a second, as os.uptime() gives it. */
  boot(time: number): number {
    return Math.floor((this.bootBase + time * this.rate) / 10) * 10;
  }

  /** The true time at which the monotonic clock will show this, if the machine stays awake. */
  timeOf(mono: number): number {
    return (mono - this.monoBase) / this.rate + this.suspendedMs;
  }

  jumpWall(byMs: number): void {
    this.wallBase += byMs;
  }

  suspend(time: number): void {
    this.suspendedSince ??= time;
  }

  resume(time: number): void {
    if (this.suspendedSince === null) return;
    this.suspendedMs += time - this.suspendedSince;
    this.suspendedSince = null;
  }
}

/** The database's clock: it drifts and may be stepped back. A step forward breaks what G3 assumes. */
export class DatabaseClock {
  private readonly rate: number;
  private base: number;

  constructor(random: Random, atTheEnds: boolean) {
    this.rate = anyRate(random, atTheEnds);
    this.base = unixMs + random.between(-60_000, 60_000);
  }

  read(time: number): number {
    return this.base + time * this.rate;
  }

  step(byMs: number): void {
    this.base += byMs;
  }
}
