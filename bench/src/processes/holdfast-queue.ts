import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { pino } from "pino";
import { createNode, createQueue, NotLeaderError } from "../holdfast.js";
import { roleName } from "../messages.js";
import { batchSize, bodyOf, type Handled, laneOf, type QueueLoad, type QueueUnderTest } from "../queue/queue-load.js";
import { takeQueueOrders } from "../queue/queue-orders.js";

type HoldfastQueue = ReturnType<typeof createQueue>;

const stageNames = ["ingress", "routed", "outbound"];
const lookMs = 2;

/** A node with default settings that leads, and queues on it. */
export function run(url: string): void {
  let started: ReturnType<typeof start> | null = null;
  takeQueueOrders(url, async (name, { stages }) => {
    started ??= start(url);
    const { node, session } = await started;
    const queue = createQueue(node, { name, role: roleName, stages: stageNames.slice(0, stages), batch: batchSize });
    await isOpen(queue);
    return new MeasuredQueue(queue, session);
  });
}

async function start(url: string) {
  const session = new pg.Client({ connectionString: url });
  await session.connect();
  const node = await createNode({ store: { url }, cluster: { enabled: true }, logger: pino({ level: "silent" }) });
  const role = node.role(roleName);
  if (!role.gate.isLeader) await new Promise((resolve) => role.once("elected", resolve));
  return { node, session };
}

/** A queue takes messages in once its leader has read its lanes. */
async function isOpen(queue: HoldfastQueue): Promise<void> {
  for (;;) {
    try {
      await queue.enqueueMany([]);
      return;
    } catch (error) {
      if (!(error instanceof NotLeaderError)) throw error;
      await pause(lookMs);
    }
  }
}

class MeasuredQueue implements QueueUnderTest {
  readonly ordersCalls = true;
  private readonly queue: HoldfastQueue;
  private readonly session: pg.Client;
  private finished = 0;
  private handled: Handled = () => undefined;
  /** While a load is taken in, handlers wait. */
  private opened: Promise<void> | null = null;
  private open: () => void = () => undefined;

  constructor(queue: HoldfastQueue, session: pg.Client) {
    this.queue = queue;
    this.session = session;
    this.shut();
  }

  async enqueue(numbers: readonly number[], { lanes }: QueueLoad): Promise<void> {
    await this.queue.enqueueMany(numbers.map((number) => ({ lane: laneOf(number, lanes ?? 1), body: bodyOf(number) })));
  }

  async process({ messages, stages }: QueueLoad, handled: Handled): Promise<() => Promise<void>> {
    this.handled = handled;
    if (this.finished === 0) this.handle(stages);
    this.finished += messages * stages;
    this.opened = null;
    this.open();
    return async () => {
      while ((await this.doneInAll()) < this.finished) await pause(lookMs);
      this.shut();
    };
  }

  async unfinished(): Promise<number> {
    return Object.values(await this.queue.depth()).reduce((sum, messages) => sum + messages, 0);
  }

  private handle(stages: number): void {
    for (let stage = 0; stage < stages; stage++) {
      const next = stage + 1 < stages ? stageNames[stage + 1] : undefined;
      this.queue.process(stageNames[stage] ?? "", async ({ lane, position, body }) => {
        if (this.opened !== null) await this.opened;
        if (next !== undefined) return [{ stage: next, lane, body }];
        this.handled(lane, position);
        return undefined;
      });
    }
  }

  private shut(): void {
    this.opened = new Promise((resolve) => {
      this.open = resolve;
    });
  }

  /** Cheaper than the depth, which also asks for each lane's end. */
  private async doneInAll(): Promise<number> {
    const { rows } = await this.session.query<{ done: string }>(
      "select coalesce(sum(done), 0) as done from holdfast.lanes where queue = $1",
      [this.queue.name],
    );
    return Number(rows[0]?.done ?? 0);
  }
}
