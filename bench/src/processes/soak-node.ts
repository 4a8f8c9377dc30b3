import { setTimeout as pause } from "node:timers/promises";
import { pino } from "pino";
import { createJobs, createNode, createQueue, startHttpServer } from "../holdfast.js";
import { type OpenSoak, roleName } from "../messages.js";
import { bodyOf, laneOf } from "../queue/queue-load.js";
import { PacedLoad } from "../soak/paced-load.js";
import { takeSoakOrders } from "../soak/soak-orders.js";

const lanes = 100;
const lookMs = 5;

/** A whole node: a queue, jobs, a graph and an HTTP server. Where it leads, it is also the one who puts messages into its queue. */
export function run(url: string): void {
  let number = 0;
  let queue: ReturnType<typeof createQueue> | null = null;
  const load = new PacedLoad(
    async (count, dueAt) => {
      const messages = Array.from({ length: count }, () => {
        number += 1;
        return { lane: laneOf(number, lanes), body: `${dueAt} ${bodyOf(number)}` };
      });
      await queue?.enqueueMany(messages);
    },
    { callers: 4, batch: 100, mostUnderWay: 2_000 },
  );
  const open = async ({ folder, leads }: OpenSoak): Promise<string> => {
    const node = await createNode({
      store: { url },
      cluster: { enabled: true },
      api: { port: 0 },
      logger: pino({ level: "silent" }),
    });
    const jobs = createJobs(node);
    queue = createQueue(node, { name: "soak", role: roleName });
    queue.process("ingress", async ({ body }) => load.arrive(Number(body.toString("latin1", 0, body.indexOf(0x20)))));
    await node.engine.open(folder);
    const server = await startHttpServer(node);
    while (leads && !jobs.isOpen) await pause(lookMs);
    return server.url;
  };
  takeSoakOrders({ load, open });
}
