import { createQueue } from "../holdfast.js";
import { roleName } from "../messages.js";
import { bodyOf, laneOf, type QueueUnderTest } from "../queue/queue-load.js";
import { tell } from "./parent.js";

/** An hour: longer than any bench. */
const neverMs = 3_600_000;

/** A queue whose handler takes messages and never ends, so that a leader always has as much in flight as it can. */
export function endlessQueue(
  node: Parameters<typeof createQueue>[0],
  nodeId: string,
): Pick<QueueUnderTest, "enqueue" | "ordersCalls"> {
  // Each round's heads are in flight in a crash, which is no fault of theirs.
  const queue = createQueue(node, { name: "backlog", role: roleName, maxReclaims: 1_000, handlerTimeoutMs: neverMs });
  let told = false;
  queue.process("ingress", async () => {
    if (!told) tell({ kind: "delivered", nodeId, at: process.hrtime.bigint() });
    told = true;
    await new Promise(() => undefined);
  });
  return {
    ordersCalls: true,
    enqueue: (numbers, { lanes }) =>
      queue.enqueueMany(numbers.map((number) => ({ lane: laneOf(number, lanes ?? 1), body: bodyOf(number) }))),
  };
}
