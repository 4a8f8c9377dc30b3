// A node with a queue of two stages, in a process of its own, for tests that kill and freeze it. It runs the built package,
// obeys the commands of queue-process.ts, and reports over IPC. Every time is CLOCK_MONOTONIC, which all processes of a
// machine share.
import { setTimeout as pause } from "node:timers/promises";
import { pino } from "pino";
import { createNode } from "../../dist/index.js";
import { createQueue } from "../../dist/queue.js";

const { settings, queue: options } = JSON.parse(process.argv[2]);
const nowMs = () => Number(process.hrtime.bigint()) / 1e6;

/** Resolves when the message is out of this process, so that its death cannot take it along. */
const told = (message) =>
  new Promise((resolve, reject) => {
    process.send?.(message, (error) => (error ? reject(error) : resolve()));
  });
const say = (message) => void told(message).catch(() => process.exit());
const errorOf = (error) => ({ code: error.code ?? error.name, message: error.message });

process.on("disconnect", () => process.exit());
const logger = pino(
  { base: null, timestamp: false },
  { write: (line) => say({ kind: "log", line: JSON.parse(line) }) },
);

/** The term of the last election; a stale one is kept, so that a test can write under it. */
let lastTerm = null;

/** Some messages fail when they are first tried, and some take a moment, so that a fault finds handlers in every state. */
const fails = ({ number, attempt }) => attempt === 1 && number % 40 === 7;
const isSlow = ({ number }) => number % 10 === 3;

/** The delivery is told before the handler returns, hence before anything can be settled. */
async function deliver(message) {
  const { stage, lane, position, attempt, body } = message;
  const at = nowMs();
  const number = Number(body.toString());
  const delivery = { stage, lane, number, position, epoch: Number(message.epoch), attempt, at };
  const failed = fails(delivery);
  await told({ kind: "delivery", delivery: { ...delivery, failed } });
  if (isSlow(delivery)) await pause(3);
  if (failed) throw new Error("not at the first try");
}

/** What a write of the last term is answered, straight at the database and past every gate. */
async function outcomeOf(write) {
  try {
    await write();
    return "done";
  } catch (error) {
    return errorOf(error).code;
  }
}

const commands = {
  enqueue: async ({ queue }, { lane, numbers }) => {
    await queue.enqueueMany(numbers.map((number) => ({ lane, body: `${number}`, key: `${lane}/${number}` })));
  },
  depth: ({ queue }) => queue.depth(),
  deadLetters: async ({ queue }) => (await queue.deadLetters()).length,
  writeUnderLastTerm: async ({ node }, { lane, segment, position }) => {
    const book = node.queueBook;
    const { fence } = lastTerm;
    const batchAt = (place) => {
      const message = { lane, position: place, key: null, headers: null, body: Buffer.from("0") };
      return { queue: options.name, segment, messages: [message], waking: [] };
    };
    const settlement = { lane, claim: 0, done: 0, doneSegment: null, keeps: false, head: { kind: "ready" } };
    const wishes = [{ lane, limit: 1 }];
    return {
      append: await outcomeOf(() => book.append(fence, batchAt(position))),
      // What is there may be its own from before, or its successor's: only the fence can tell, so that must speak first.
      appendWhereOneIs: await outcomeOf(() => book.append(fence, batchAt(1))),
      claim: await outcomeOf(() => book.claim(fence, { queue: options.name, claim: 1, leaseMs: 1_000, wishes })),
      settle: await outcomeOf(() => book.settle(fence, [settlement], null)),
    };
  },
};

async function obey({ id, command, ...order }) {
  try {
    const value = await commands[command](await started, order);
    say({ kind: "reply", id, value });
  } catch (error) {
    say({ kind: "reply", id, error: errorOf(error) });
  }
}
process.on("message", (message) => void obey(message));

async function start() {
  const node = await createNode({ ...settings, logger });
  const role = node.role("scheduler");
  for (const kind of ["elected", "lost"]) {
    role.on(kind, ({ epoch, reason }) => say({ kind, epoch: Number(epoch), reason, at: nowMs() }));
  }
  role.lead((term) => {
    lastTerm = term;
  });
  const queue = createQueue(node, { role: "scheduler", ...options });
  queue.process("ingress", async (message) => {
    await deliver(message);
    return [{ stage: "outbound", lane: message.lane, body: message.body }];
  });
  queue.process("outbound", deliver);
  return { node, queue };
}

const started = start();
try {
  const { node } = await started;
  say({ kind: "started", nodeId: node.id });
} catch (error) {
  say({ kind: "failed", ...errorOf(error) });
}
