import { EventEmitter, once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { type LatencyCounts, LatencyHistogram } from "./latency-histogram.js";

/** Takes so many messages in, all of which were due at this moment. Resolves when they are taken in. */
export type Send = (count: number, dueAt: number) => Promise<void>;

export interface LoadSample {
  /** Since the load began. */
  readonly sent: number;
  readonly arrived: number;
  /** Since the last sample: from when a message was due to when it had arrived. */
  readonly latencies: LatencyCounts;
}

interface ClosedLoop {
  readonly callers: number;
  readonly batch: number;
  /** Nobody sends while so many are on their way. */
  readonly mostUnderWay: number;
}

const tickMs = 10;
const restPatienceMs = 120_000;

/**
 * Sends at a rate, whatever comes of it; a message that had to wait before it was sent counts from when it was due. Or as fast
 * as messages arrive, with so many on their way at most, which is how the highest rate is found.
 */
export class PacedLoad {
  private readonly send: Send;
  private readonly loop: ClosedLoop;
  private readonly latencies = new LatencyHistogram();
  private readonly arrivals = new EventEmitter<{ arrival: [] }>();
  private readonly underWay = new Set<Promise<void>>();
  private running: Promise<unknown> = Promise.resolve();
  private isOn = false;
  private failure: { readonly error: unknown } | null = null;
  private sent = 0;
  private arrived = 0;

  constructor(send: Send, loop: ClosedLoop) {
    this.send = send;
    this.loop = loop;
    this.arrivals.setMaxListeners(0);
  }

  /** At so many a second, or as fast as it goes. What fails is told to whoever looks at it next. */
  begin(perSecond: number | null): void {
    this.isOn = true;
    this.running = perSecond === null ? this.sendAsTheyArrive() : this.sendOnTime(perSecond);
    this.running.catch((error: unknown) => this.fail(error));
  }

  /** One that was due at this moment. */
  arrive(dueAt: number): void {
    this.latencies.add(performance.now() - dueAt);
    this.arrived += 1;
    this.arrivals.emit("arrival");
  }

  take(): LoadSample {
    if (this.failure !== null) throw this.failure.error;
    return { sent: this.sent, arrived: this.arrived, latencies: this.latencies.take() };
  }

  /** Sends no more, and waits until all have arrived. */
  async rest(): Promise<void> {
    this.isOn = false;
    await this.running;
    await Promise.allSettled(this.underWay);
    if (this.failure !== null) throw this.failure.error;
    const patience = AbortSignal.timeout(restPatienceMs);
    while (this.arrived < this.sent) await once(this.arrivals, "arrival", { signal: patience });
    if (this.arrived > this.sent) throw new Error(`${this.sent} were sent, and ${this.arrived} arrived`);
  }

  private async sendOnTime(perSecond: number): Promise<void> {
    const startedAt = performance.now();
    let due = 0;
    while (this.isOn) {
      const now = performance.now();
      const count = Math.floor(((now - startedAt) / 1000) * perSecond) - due;
      due += count;
      if (count > 0) this.track(this.sendSome(count, now));
      await pause(tickMs);
    }
  }

  private async sendAsTheyArrive(): Promise<void> {
    const { callers, batch, mostUnderWay } = this.loop;
    const call = async (): Promise<void> => {
      while (this.isOn) {
        if (this.sent - this.arrived + batch > mostUnderWay) await once(this.arrivals, "arrival");
        else await this.sendSome(batch, performance.now());
      }
    };
    await Promise.all(Array.from({ length: callers }, call));
  }

  private async sendSome(count: number, dueAt: number): Promise<void> {
    this.sent += count;
    await this.send(count, dueAt);
  }

  private track(sending: Promise<void>): void {
    this.underWay.add(sending);
    sending.catch((error: unknown) => this.fail(error)).finally(() => this.underWay.delete(sending));
  }

  private fail(error: unknown): void {
    this.isOn = false;
    this.failure ??= { error };
  }
}
