// @ts-check
/**
 * Only the leader sends; each message has a nonce; a takeover leaves no gap and no duplicate at the receiver.
 *
 *   npm run build
 *   node examples/nonce-sender.mjs sink 8099
 *   node examples/nonce-sender.mjs sender http://127.0.0.1:8099 postgres://user@localhost/app     (or set DATABASE_URL)
 *
 * Start three senders and kill -9 the one that sends. How it holds:
 * 1. A nonce is allocated together with its message, in a fenced transaction: a deposed leader allocates nothing (G1), so
 *    no nonce is given twice, and none is skipped, because a transaction that is refused takes its number with it.
 * 2. It is sent only after that commit, with the nonce as the idempotency key, and right behind a check of the gate.
 * 3. It is marked as sent in a second fenced transaction. A leader that dies in between leaves it pending, and the next
 *    one sends the oldest pending message before it allocates another. So the receiver sees n before n + 1.
 * 4. Nobody can know whether a message that was pending at a crash had arrived. It is sent again, with the same nonce and
 *    the same content, and the receiver takes each nonce once. Without a receiver that does so, no sender can promise it.
 */
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { createNode, StaleEpochError } from "holdfast";

const [what, ...rest] = process.argv.slice(2);
if (what === "sink") runSink(Number(rest[0] ?? 0), Number(rest[1] ?? 0));
else if (what === "sender") await runSender(rest[0], rest[1] ?? process.env.DATABASE_URL);
else usage();

/** @returns {never} */
function usage() {
  console.error(
    "usage: node examples/nonce-sender.mjs sink [port] [answer after ms] | sender http://sink postgres://user@host/database",
  );
  process.exit(2);
}

/**
 * The receiver: it takes nonces in order, each once. `delayMs` holds its answers back, which leaves a sender in doubt for
 * longer. GET answers with everything that it took.
 *
 * @param {number} port
 * @param {number} delayMs
 */
function runSink(port, delayMs) {
  /** @type {{ nonce: number, payload: string, epoch: string }[]} */
  const taken = [];
  /** @param {import("node:http").IncomingMessage} request */
  async function take(request) {
    const payload = await text(request);
    const nonce = Number(request.headers["idempotency-key"]);
    const epoch = String(request.headers["x-epoch"]);
    if (nonce <= taken.length) {
      console.log(`duplicate ${nonce} under epoch ${epoch}`);
      return 200;
    }
    if (nonce !== taken.length + 1) {
      console.log(`gap before ${nonce} under epoch ${epoch}`);
      return 409;
    }
    taken.push({ nonce, payload, epoch });
    console.log(`took ${nonce} under epoch ${epoch}`);
    return 201;
  }
  const server = createServer((request, response) => {
    if (request.method === "GET") {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(taken));
      return;
    }
    take(request)
      .then((status) => pause(delayMs, status))
      .then(
        (status) => response.writeHead(status).end(),
        () => response.destroy(), // The sender died while it was sending.
      );
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
  const sender = node.role("sender");
  console.log(`standing by as ${node.id}`);

  sender.lead(async (term) => {
    console.log(`leading under epoch ${term.epoch}`);
    await term.transaction((tx) =>
      tx.query(
        `create table if not exists outbox (
           nonce bigint primary key, payload text not null, status text not null, epoch bigint not null)`,
      ),
    );
    while (!term.signal.aborted) {
      try {
        await sendNext(term);
      } catch (error) {
        // Refused for good: another node sends now.
        if (error instanceof StaleEpochError || term.signal.aborted) throw error;
        // Else the message stays pending, and is tried again: the receiver or the database is away, or the gate is shut.
        console.error(`not sent: ${error instanceof Error ? error.message : String(error)}`);
        await pause(200, undefined, { signal: term.signal });
      }
    }
  });

  /** @param {import("holdfast").LeaderTerm<import("pg").ClientBase>} term */
  async function sendNext(term) {
    const token = sender.gate.requireLeader();
    const message = await term.transaction((tx) => nextMessage(tx, token.epoch));
    // Just before the effect, with the token of this very message: the transaction may have taken its time.
    sender.gate.ensureEpoch(token.epoch);
    const answer = await fetch(/** @type {string} */ (sink), {
      method: "POST",
      headers: { "idempotency-key": message.nonce, "x-epoch": token.epoch.toString() },
      body: message.payload,
      signal: AbortSignal.any([term.signal, AbortSignal.timeout(5_000)]),
    });
    if (!answer.ok) throw new Error(`the receiver answered ${answer.status} to nonce ${message.nonce}`);
    await term.transaction((tx) => tx.query("update outbox set status = 'sent' where nonce = $1", [message.nonce]));
    console.log(`sent ${message.nonce}`);
  }
}

/**
 * The oldest message that is pending, or a new one with the next nonce. Read and allocated in one fenced transaction: a
 * deposed leader does not even get to see what its successor has pending.
 *
 * @param {import("pg").ClientBase} tx
 * @param {bigint} epoch
 * @returns {Promise<{ nonce: string, payload: string }>}
 */
async function nextMessage(tx, epoch) {
  const pending = await tx.query("select nonce, payload from outbox where status = 'pending' order by nonce limit 1");
  if (pending.rows.length > 0) return pending.rows[0];
  const payload = `message of ${new Date().toISOString()}`; // A real sender takes it from a request, or from a queue.
  const made = await tx.query(
    `insert into outbox (nonce, payload, status, epoch)
     select coalesce(max(nonce), 0) + 1, $1, 'pending', $2 from outbox returning nonce, payload`,
    [payload, epoch],
  );
  return made.rows[0];
}
