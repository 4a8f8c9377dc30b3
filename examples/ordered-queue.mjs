// @ts-check
/**
 * Payments that leave in order, account by account, whatever happens to the process that sends them.
 *
 * Start it two or three times, on a PostgreSQL of yours, and kill the one that sends:
 *
 *   npm run build
 *   node examples/ordered-queue.mjs postgres://user@localhost/app     (or set DATABASE_URL)
 *
 * A lane for each account, and two stages: what comes in is checked, and what passed is sent. What that promises:
 * - a payment that was taken in is not lost (G4), and is in each stage once: a new leader asks for all of them again, under
 *   the same keys, and those that are there already are not taken in twice;
 * - the payments of an account are sent for the first time in the order in which they came in (G5); after a crash the last few
 *   may be sent again, under a higher epoch, so the receiver tells them apart by their key;
 * - one that fails for good makes way for the others, and is redriven to the end of its lane once its cause is mended.
 */
import { setTimeout as pause } from "node:timers/promises";
import { createNode } from "holdfast";
import { createQueue } from "holdfast/queue";

const url = process.argv[2] ?? process.env.DATABASE_URL;
if (!url) {
  console.error("usage: node examples/ordered-queue.mjs postgres://user@host/database");
  process.exit(2);
}

const node = await createNode({ store: { url }, cluster: { enabled: true } });
process.once("SIGTERM", () => void node.close());
process.once("SIGINT", () => void node.close());

const payments = createQueue(node, {
  name: "payments",
  role: "payments",
  stages: ["incoming", "outgoing"],
  maxAttempts: 2,
  backoffMs: 50,
  // What one crash may repeat of an account.
  batch: 20,
});

/** Payment 3 of account b needs an approval, which is there only when somebody has looked at the dead letter. */
payments.process("incoming", async ({ lane, body, key, headers }) => {
  const approved = "x-holdfast-redriven-from" in headers;
  if (body.toString() === "b 3" && !approved) throw new Error("needs an approval");
  // Taken in by the commit that finishes this message: both are there, or neither.
  return [{ stage: "outgoing", lane, body, ...(key === null ? {} : { key: `out ${key}` }) }];
});

payments.process("outgoing", async ({ body, epoch }) => {
  console.log(`sent ${body.toString()} under epoch ${epoch}`);
});

const accounts = ["a", "b", "c"];
const each = 200;

console.log(`standing by as ${node.id}`);

node.role("payments").lead(async (term) => {
  console.log(`leading under epoch ${term.epoch}`);
  await untilOpen(term.signal);
  // From the first on: whoever led before may have got anywhere.
  for (let number = 1; number <= each; number += 1) {
    const bodies = accounts.map((account) => ({
      lane: account,
      body: `${account} ${number}`,
      key: `${account} ${number}`,
    }));
    const taken = await payments.enqueueMany(bodies);
    if (taken.some(({ duplicate }) => !duplicate)) await pause(25, undefined, { signal: term.signal });
  }
  console.log("all payments are in");
  await untilDone(term.signal);
  const redriven = await payments.redriveAll();
  console.log(`redriven after approval: ${redriven.length}`);
});

/**
 * The queue is opened by the same election, a moment later.
 *
 * @param {AbortSignal} signal
 */
async function untilOpen(signal) {
  while (!payments.isOpen) await pause(5, undefined, { signal });
}

/** @param {AbortSignal} signal */
async function untilDone(signal) {
  for (;;) {
    const depth = await payments.depth();
    if (Object.values(depth).every((count) => count === 0)) return;
    await pause(20, undefined, { signal });
  }
}
