import { setTimeout as pause } from "node:timers/promises";
import type { EngineLoad, Exchange } from "../engine/engine-load.js";
import { openReceivers } from "../engine/mllp-receivers.js";
import { MllpSender } from "../engine/mllp-sender.js";
import { percentile } from "../statistics.js";
import { takeOrders, tell } from "./parent.js";

/** Both ends of the interfaces: whoever sends to the engine, and whoever it sends to. */
export function run(): void {
  let exchanges = 0;
  let current: Watch | null = null;
  takeOrders(async (order) => {
    if (order.kind === "receive") {
      const ports = await openReceivers(order.interfaces, (controlId) => current?.received(controlId));
      tell({ kind: "receiving", ports });
    } else if (order.kind === "exchange") {
      exchanges += 1;
      current = new Watch(`${exchanges}`, order.load);
      tell({ kind: "exchanged", ...(await exchange(order.ports, order.load, current)) });
    }
  });
}

/** Sees to it that every message of a load arrives once, and those of a sender in their order. */
class Watch {
  readonly delivered: Promise<number>;
  private readonly name: string;
  private readonly expected: number;
  private readonly last = new Map<string, number>();
  private count = 0;
  private resolve: (at: number) => void = () => undefined;
  private reject: (error: Error) => void = () => undefined;

  constructor(name: string, load: EngineLoad) {
    this.name = name;
    this.expected = load.messages;
    this.delivered = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    // Told to whoever waits for it, if anybody does.
    this.delivered.catch(() => undefined);
    if (!load.delivers) this.resolve(0);
  }

  controlId(sender: number, number: number): string {
    return `${this.name}-${sender}-${number}`;
  }

  received(controlId: string): void {
    const [name, sender = "", number = ""] = controlId.split("-");
    if (name !== this.name) return;
    const before = this.last.get(sender) ?? 0;
    if (Number(number) !== before + 1) this.reject(new Error(`message ${controlId} came after number ${before}`));
    this.last.set(sender, Number(number));
    this.count += 1;
    if (this.count === this.expected) this.resolve(performance.now());
  }
}

async function exchange(ports: readonly number[], load: EngineLoad, watch: Watch): Promise<Exchange> {
  const { senders, messages, perSecond, delivers } = load;
  const links = await Promise.all(
    Array.from({ length: senders }, (_, sender) => MllpSender.to(ports[sender % ports.length] ?? 0)),
  );
  const waits: number[] = [];
  let left = messages;
  const startedAt = performance.now();
  const send = async (link: MllpSender, sender: number): Promise<void> => {
    for (let number = 1; left > 0; number++) {
      left -= 1;
      const from = await begin(
        perSecond === null ? null : startedAt + (((number - 1) * senders + sender) * 1000) / perSecond,
      );
      await link.send(watch.controlId(sender, number));
      waits.push(performance.now() - from);
    }
  };
  await Promise.all(links.map(send));
  const ackedMs = performance.now() - startedAt;
  const deliveredMs = delivers ? (await watch.delivered) - startedAt : ackedMs;
  for (const link of links) link.close();
  return { ackedMs, deliveredMs, ackP50: percentile(waits, 0.5), ackP99: percentile(waits, 0.99) };
}

/** Waits until a message is due, and answers with the time from which its sender waits: one that comes late counts from when it was due. */
async function begin(due: number | null): Promise<number> {
  const waitMs = due === null ? 0 : due - performance.now();
  if (due === null || waitMs <= 0) return due ?? performance.now();
  await pause(waitMs);
  return performance.now();
}
