import { createServer } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { codeOf, now } from "./journal.mjs";

const role = "queue";
const mostBytes = 65_536;

/** Some messages fail when they are first tried, and some take a moment, so that a fault finds handlers in every state. */
const fails = ({ number, attempt }) => attempt === 1 && number % 40 === 7;
const isSlow = ({ number }) => number % 10 === 3;

/** A queue of two stages, and the port through which messages come: it answers when they are committed. */
export async function openQueue(node, { task, service, journal, points, library }) {
  const { createQueue, leaderGuard, errorAnswer } = library;
  const queue = createQueue(node, {
    name: task.name,
    role,
    stages: ["ingress", "outbound"],
    batch: task.batch,
    concurrency: task.concurrency,
    backoffMs: 20,
    // A run has more crashes than any message should have to bear.
    maxReclaims: 1_000,
    maxAttempts: 1_000,
  });
  queue.process("ingress", async (message, context) => {
    await deliver(message, context);
    return [{ stage: "outbound", lane: message.lane, body: message.body }];
  });
  queue.process("outbound", deliver);

  /** Told before the handler returns, hence before anything can be settled. */
  async function deliver({ stage, lane, position, attempt, body, epoch }, { signal }) {
    const delivery = { stage, lane, number: Number(body.toString()), position, epoch: `${epoch}`, attempt };
    const failed = fails(delivery);
    journal.tell({ kind: "delivery", ...delivery, failed, at: now() });
    points.at("in_handler");
    if (isSlow(delivery)) await pause(3);
    // Its gate was shut meanwhile, as a late beat shuts it: what was under way then is delivered once more.
    if (signal.aborted) journal.tell({ kind: "lost_track", role, epoch: `${epoch}` });
    if (failed) throw new Error("not at the first try");
  }

  async function take(incoming) {
    const guarded = leaderGuard(node, role);
    if (guarded !== null) return guarded;
    try {
      const { lane, numbers } = JSON.parse(await textOf(incoming));
      const messages = numbers.map((number) => ({ lane, body: `${number}`, key: `${lane}/${number}` }));
      await queue.enqueueMany(messages);
      points.at("before_ack");
      return { status: 200, headers: {}, body: { taken: numbers.length } };
    } catch (error) {
      return (
        errorAnswer(error, node) ?? { status: 500, headers: {}, body: { error: "INTERNAL", message: codeOf(error) } }
      );
    }
  }

  const server = createServer((incoming, outgoing) => {
    void take(incoming).then(({ status, headers, body }) => {
      const text = typeof body === "string" ? body : JSON.stringify(body);
      outgoing.writeHead(status, { ...headers, "content-type": "application/json" }).end(text);
    });
  });
  await new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(service.port, service.host, resolve);
  });
}

async function textOf(incoming) {
  let text = "";
  for await (const piece of incoming.setEncoding("utf8")) {
    text += piece;
    if (text.length > mostBytes) throw new Error("The body is too large.");
  }
  return text;
}
