import { Agent, request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { now, outcomeOf } from "./journal.mjs";
import { OwnSession } from "./own-session.mjs";

const role = "writer";
const effectEveryMs = 25;
const sendWithinMs = 2_000;
const mostUnderWay = 50;
/** Raised by the table's own trigger once the run is over and the account is made up. */
const closedCode = "P0001";

/**
 * While this node leads "writer" it reads a number, adds one and writes it back, again and again: nothing but the role keeps others from
 * doing so. Every other write goes through a session of its own, fenced by `assert_epoch` alone, with no gate in front. Beside that it
 * asks its gate and then tells two systems outside.
 */
export function openWriter(node, { task, store, journal, points }) {
  const { table, everyMs, sinks } = task;
  const handle = node.role(role);
  const post = poster();
  let isClosed = false;
  handle.lead(async (term) => {
    await Promise.all([writeOn(term), actOn(term)]);
  });

  /** Each term has a session of its own: what the last one had under way may still be. */
  async function writeOn(term) {
    const session = new OwnSession(store);
    const throughSession = (of, work) => session.transaction(of, work);
    for (let turn = 0; !term.signal.aborted && !isClosed; turn += 1) {
      if (turn % 2 === 0) {
        points.at("before_transaction");
        await write(term, throughTerm, "in_transaction");
      } else await write(term, throughSession, "in_own_transaction");
      await pause(everyMs, undefined, { signal: term.signal }).catch(() => undefined);
    }
    session.hangUp();
  }

  async function write(term, transaction, point) {
    const seen = { from: now(), before: null, after: null };
    const told = (outcome) =>
      journal.tell({ kind: "write", role, epoch: `${term.epoch}`, ...seen, to: now(), ...outcome });
    try {
      await transaction(term, async (query) => {
        seen.before = Number((await query(`SELECT value FROM ${table}`)).rows[0].value);
        points.at(point);
        seen.after = seen.before + 1;
        await query(`UPDATE ${table} SET value = ${seen.after}, epoch = ${term.epoch}`);
        // It may be committed from here on, and a killed process tells nothing more.
        told({ outcome: "unknown" });
        points.at("before_commit");
      });
      points.at("after_commit");
      told({ outcome: "done" });
    } catch (error) {
      const outcome = outcomeOf(error);
      told(outcome);
      isClosed = outcome.code === closedCode;
      if (!isClosed) journal.rejected(outcome.code);
    }
  }

  async function actOn(term) {
    while (!term.signal.aborted) {
      act();
      await pause(effectEveryMs, undefined, { signal: term.signal }).catch(() => undefined);
    }
  }

  function act() {
    const gateAt = now();
    let token;
    try {
      token = handle.gate.requireLeader();
    } catch (error) {
      journal.rejected(outcomeOf(error).code);
      return;
    }
    points.at("in_gate");
    const effect = { node: node.id, role, epoch: `${token.epoch}`, gateAt };
    for (const sink of Object.values(sinks)) post(sink, effect);
  }
}

async function throughTerm(term, work) {
  await term.transaction(async (tx) => await work((sql) => tx.query(sql)));
}

/** An effect that gets no answer in time is given up: the sink knows what came. */
function poster() {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  let underWay = 0;
  return (url, effect) => {
    if (underWay >= mostUnderWay) return;
    underWay += 1;
    const sent = request(url, { method: "POST", agent, timeout: sendWithinMs }, (answer) => answer.resume());
    sent.on("timeout", () => sent.destroy());
    sent.on("error", () => undefined);
    sent.on("close", () => {
      underWay -= 1;
    });
    sent.end(JSON.stringify(effect));
  };
}
