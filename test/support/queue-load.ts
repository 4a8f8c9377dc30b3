import { EventEmitter, once } from "node:events";
import { within } from "../../src/lifecycle/within.js";
import type { QueueCluster } from "./queue-cluster.js";

const atOnce = 5;
/** A lane is not fed further ahead of its last stage than this, so that a slow machine has no more than this to drain. */
const furthestAhead = 100;
const stopWithinMs = 40_000;

/** Feeds numbered messages into many lanes, each in order: the next ones go out when the last ones are acknowledged. */
export class QueueLoad {
  private readonly cluster: QueueCluster;
  private readonly atLeast: number;
  private readonly arrived = new Map<string, number>();
  private readonly arrivals = new EventEmitter();
  private readonly feeding: Promise<unknown>;
  private stopping = false;

  /** No lane gets fewer messages than `atLeast`, however soon it is stopped. */
  constructor(
    cluster: QueueCluster,
    { lanes, lastStage, atLeast }: { readonly lanes: number; readonly lastStage: string; readonly atLeast: number },
  ) {
    this.cluster = cluster;
    this.atLeast = atLeast;
    this.arrivals.setMaxListeners(0);
    cluster.onDelivery(({ stage, lane, number }) => {
      if (stage !== lastStage || number <= (this.arrived.get(lane) ?? 0)) return;
      this.arrived.set(lane, number);
      this.arrivals.emit(lane);
    });
    this.feeding = Promise.all(Array.from({ length: lanes }, (_, index) => this.feed(`lane-${index}`)));
  }

  /** Resolves when all that was sent is acknowledged. */
  async stop(): Promise<void> {
    this.stopping = true;
    await within(stopWithinMs, this.feeding, () => {
      throw new Error(`Not all that was sent was acknowledged:\n${this.cluster.story()}`);
    });
  }

  private async feed(lane: string): Promise<void> {
    for (let sent = 0; !this.stopping || sent < this.atLeast; sent += atOnce) {
      const numbers = Array.from({ length: atOnce }, (_, index) => sent + index + 1);
      await this.cluster.enqueue(lane, numbers);
      while (sent + atOnce - (this.arrived.get(lane) ?? 0) > furthestAhead) await once(this.arrivals, lane);
    }
  }
}
