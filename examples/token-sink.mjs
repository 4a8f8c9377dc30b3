// @ts-check
/**
 * An outside system that checks the fencing token, and a leader that passes it along.
 *
 *   npm run build
 *   node examples/token-sink.mjs sink 8099
 *   node examples/token-sink.mjs sender http://127.0.0.1:8099 postgres://user@localhost/app     (or set DATABASE_URL)
 *
 * The gate stops a leader that no longer leads, but not a request that left in time and arrives late. Only the receiver
 * can refuse that one, so it remembers the highest epoch that it has seen of each role and accepts none below it. This
 * one remembers in memory; a real one keeps the number next to the data that it protects, and changes both together.
 */
import { createServer } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { createNode } from "holdfast";

const [what, ...rest] = process.argv.slice(2);
if (what === "sink") runSink(Number(rest[0] ?? 0));
else if (what === "sender") await runSender(rest[0], rest[1] ?? process.env.DATABASE_URL);
else usage();

/** @returns {never} */
function usage() {
  console.error("usage: node examples/token-sink.mjs sink [port] | sender http://sink postgres://user@host/database");
  process.exit(2);
}

/** @param {number} port */
function runSink(port) {
  /** @type {Map<string, bigint>} */
  const highest = new Map();
  const server = createServer((request, response) => {
    const role = String(request.headers["x-role"]);
    const epoch = BigInt(String(request.headers["x-epoch"]));
    const seen = highest.get(role) ?? 0n;
    if (epoch < seen) {
      console.log(`refused epoch ${epoch} of ${role}: ${seen} has been here`);
      response.writeHead(409).end(`STALE_EPOCH: ${seen} has been here`);
      return;
    }
    highest.set(role, epoch);
    console.log(`accepted epoch ${epoch} of ${role}`);
    response.writeHead(204).end();
  });
  server.listen(port, "127.0.0.1", () => {
    const address = server.address();
    console.log(`listening on http://127.0.0.1:${typeof address === "object" ? address?.port : address}`);
  });
}

/**
 * @param {string | undefined} sink
 * @param {string | undefined} url
 */
async function runSender(sink, url) {
  if (!sink || !url) usage();
  const node = await createNode({ store: { url }, cluster: { enabled: true } });
  process.once("SIGTERM", () => void node.close());
  process.once("SIGINT", () => void node.close());
  const notifier = node.role("notifier");

  notifier.lead(async (term) => {
    console.log(`leading under epoch ${term.epoch}`);
    while (!term.signal.aborted) {
      try {
        const token = notifier.gate.requireLeader();
        const headers = { "x-role": notifier.name, "x-epoch": token.epoch.toString() };
        const answer = await fetch(sink, { method: "POST", headers, signal: term.signal });
        console.log(`sent under epoch ${token.epoch}: ${answer.status}`);
      } catch (error) {
        // The sink is away, or the gate is shut for a moment. The term goes on until its signal says otherwise.
        if (!term.signal.aborted) console.error(`not sent: ${error instanceof Error ? error.message : String(error)}`);
      }
      await pause(50, undefined, { signal: term.signal });
    }
  });
}
