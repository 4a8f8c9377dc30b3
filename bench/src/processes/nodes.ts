import { pino } from "pino";
import { createNode } from "../holdfast.js";
import { roleName, type ToProcess } from "../messages.js";
import { enqueueAll } from "../queue/queue-load.js";
import { endlessQueue } from "./endless-queue.js";
import { takeOrders, tell } from "./parent.js";

type Joining = Extract<ToProcess, { kind: "join" }>;

/** One or many Holdfast nodes with their default settings, each with sessions of its own, in a process that can be killed. */
const roles = new Map<string, Awaited<ReturnType<typeof join>>>();
const queues = new Map<string, ReturnType<typeof endlessQueue>>();
const logger = pino({ level: "silent" });
/** So many nodes of one process connect at a time. */
const joiningAtOnce = 4;
/** On a busy machine the database may not answer a node of a crowd in time: it comes again, as whoever runs it would see to. */
const attempts = 5;

export function run(url: string): void {
  takeOrders((order) => carryOut(url, order));
}

async function carryOut(url: string, order: ToProcess): Promise<void> {
  if (order.kind === "join") {
    const waiting = [...order.nodeIds];
    const joinSome = async (): Promise<void> => {
      for (let nodeId = waiting.shift(); nodeId !== undefined; nodeId = waiting.shift()) {
        roles.set(nodeId, await joinInTheEnd(url, order, nodeId));
      }
    };
    await Promise.all(Array.from({ length: joiningAtOnce }, joinSome));
    tell({ kind: "joined" });
  } else if (order.kind === "stepDown") {
    const role = roles.get(order.nodeId);
    const at = process.hrtime.bigint();
    const done = role?.stepDown(order.to === undefined ? {} : { to: order.to });
    tell({ kind: "steppingDown", at });
    await done;
    tell({ kind: "steppedDown" });
  } else if (order.kind === "enqueue") {
    const queue = queues.get(order.nodeId);
    if (queue === undefined) throw new Error(`node ${order.nodeId} has no queue`);
    await enqueueAll(queue, order.load);
    tell({ kind: "enqueued" });
  }
}

async function joinInTheEnd(url: string, order: Joining, nodeId: string) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await join(url, order, nodeId);
    } catch (error) {
      if ((error as { code?: string }).code !== "DATABASE_AWAY" || attempt === attempts) throw error;
    }
  }
}

async function join(url: string, { schema, extras }: Joining, nodeId: string) {
  const node = await createNode({
    store: { url, schema, poolSize: 2 },
    cluster: { enabled: true, name: schema, nodeId },
    logger,
  });
  // What an HTTP server does when it is set beside a node; from then on the node leaves copies of its metrics.
  if (extras.serves === true) node.countConnections(() => 0);
  const acquireMs = async (): Promise<number> => {
    const metric = await node.registry.getSingleMetric("holdfast_leader_acquire_seconds")?.get();
    const values = (metric?.values ?? []) as { metricName?: string; value: number }[];
    return (values.find(({ metricName }) => metricName?.endsWith("_sum"))?.value ?? 0) * 1000;
  };
  let spentMs = 0;
  const role = node.role(roleName);
  role.on("elected", ({ epoch }) => {
    const at = process.hrtime.bigint();
    acquireMs()
      .then((ms) => {
        tell({ kind: "elected", nodeId, epoch, at, acquireMs: ms - spentMs });
        spentMs = ms;
      })
      .catch((error: unknown) => tell({ kind: "failed", reason: String(error) }));
  });
  if (extras.queue === true) queues.set(nodeId, endlessQueue(node, nodeId));
  return role;
}
