import type { NodeTask } from "../node-order.js";
import type { Scene, Workload } from "../workload.js";
import { LeaderClient } from "./leader-client.js";
import { rest } from "./pace.js";
import { atDatabase, untilNoneLeft } from "./until-settled.js";

const queue = "orders";
const atOnce = 5;
const restMs = 250;

export interface LanesOptions {
  readonly lanes?: number;
  /** Messages, all lanes together. */
  readonly perSecond?: number;
  readonly batch?: number;
}

/** Numbered messages into many lanes of a queue, each in order: the next ones go out when the last ones are acknowledged. */
export class Lanes implements Workload {
  readonly name = "lanes";
  private readonly lanes: number;
  private readonly perSecond: number;
  private readonly batch: number;

  constructor({ lanes = 100, perSecond = 150, batch = 10 }: LanesOptions = {}) {
    this.lanes = lanes;
    this.perSecond = perSecond;
    this.batch = batch;
  }

  async prepare(): Promise<Partial<NodeTask>> {
    return await Promise.resolve({ queue: { name: queue, batch: this.batch, concurrency: 8 } });
  }

  async run(scene: Scene): Promise<void> {
    await Promise.all(Array.from({ length: this.lanes }, (_, index) => this.feed(scene, index)));
  }

  /** By what the lanes' rows say: all that was taken in is finished in every stage. */
  async settle({ directUrl }: Scene): Promise<void> {
    await untilNoneLeft("messages in lanes", async () => {
      const { rows } = await atDatabase(directUrl, (client) =>
        client.query<{ left: string }>(
          `SELECT count(*) AS left FROM holdfast.lanes l
           JOIN holdfast.messages m ON m.lane = l.id AND m.position > l.done WHERE l.queue = $1`,
          [queue],
        ),
      );
      return Number(rows[0]?.left);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.resolve();
  }

  private async feed(scene: Scene, index: number): Promise<void> {
    const { signal } = scene;
    const lane = `lane-${index}`;
    const client = new LeaderClient(lane, scene, { urlOf: ({ serviceUrl }) => serviceUrl, first: index });
    const everyMs = (1_000 * this.lanes * atOnce) / this.perSecond;
    await rest(everyMs * scene.random.unit(), signal);
    for (let sent = 0; !signal.aborted; sent += atOnce) {
      const numbers = Array.from({ length: atOnce }, (_, at) => sent + at + 1);
      await enqueue(scene, client, lane, numbers);
      await rest(everyMs, signal);
    }
  }
}

/** Again and again with the same keys, until it is acknowledged or the load ends. */
async function enqueue(scene: Scene, client: LeaderClient, lane: string, numbers: readonly number[]): Promise<void> {
  const { log, signal } = scene;
  while (!signal.aborted) {
    const { from, to, outcome, code } = await client.post("/enqueue", { lane, numbers });
    const told = code === undefined ? {} : { code };
    log({ by: lane, at: to, from, to, kind: "enqueue", lane, numbers, outcome, ...told });
    if (outcome === "done") return;
    await rest(restMs, signal);
  }
}
