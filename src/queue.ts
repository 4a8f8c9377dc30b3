/** `holdfast/queue`: a durable staged queue, strictly first in, first out in each of its lanes. */
export type { Accepted } from "./queue/intake.js";
export type { Handler, HandlerContext, Message, NewMessage, Produced } from "./queue/message.js";
export { createQueue, type Queue, type QueueNode } from "./queue/queue.js";
export type { LanePolicy, QueueOptions } from "./queue/queue-settings.js";
export type { Redriven } from "./queue/redriving.js";
export { workerHandler } from "./queue/worker-handler.js";
export type { DeadLetter, LaneName, LaneRow, MessageHead } from "./store/queue-contract.js";
