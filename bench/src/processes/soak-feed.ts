import { openReceivers } from "../engine/mllp-receivers.js";
import { MllpSender } from "../engine/mllp-sender.js";
import { PacedLoad } from "../soak/paced-load.js";
import { takeSoakOrders } from "../soak/soak-orders.js";

const senderCount = 20;

/** Both ends of one MLLP interface: senders that each wait for an acknowledgement before they send on, and a receiver. */
export function run(): void {
  const senders = new FreeSenders();
  const dueTimes = new Map<string, number>();
  let number = 0;
  const sendOne = async (dueAt: number): Promise<void> => {
    const sender = await senders.take();
    number += 1;
    const controlId = `soak-${number}`;
    dueTimes.set(controlId, dueAt);
    await sender.send(controlId);
    senders.giveBack(sender);
  };
  const load = new PacedLoad(
    async (count, dueAt) => {
      await Promise.all(Array.from({ length: count }, () => sendOne(dueAt)));
    },
    { callers: senderCount, batch: 1, mostUnderWay: 500 },
  );
  takeSoakOrders({
    load,
    receive: () =>
      openReceivers(1, (controlId) => {
        const dueAt = dueTimes.get(controlId);
        if (dueAt === undefined) return;
        dueTimes.delete(controlId);
        load.arrive(dueAt);
      }),
    open: async ({ port }) => {
      for (const sender of await Promise.all(Array.from({ length: senderCount }, () => MllpSender.to(port)))) {
        senders.giveBack(sender);
      }
      return String(port);
    },
  });
}

/** Those that wait for no acknowledgement. Who finds none waits for one. */
class FreeSenders {
  private readonly free: MllpSender[] = [];
  private readonly waiting: ((sender: MllpSender) => void)[] = [];

  async take(): Promise<MllpSender> {
    return this.free.pop() ?? (await new Promise<MllpSender>((resolve) => this.waiting.push(resolve)));
  }

  giveBack(sender: MllpSender): void {
    const next = this.waiting.shift();
    if (next === undefined) this.free.push(sender);
    else next(sender);
  }
}
