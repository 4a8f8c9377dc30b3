// One node in a process of its own, for tests that kill, freeze or cut it off. It runs the built package, obeys the commands
// of node-process.ts, and reports over IPC. Every time is CLOCK_MONOTONIC, which all processes of a machine share.
import { openSync, writeSync } from "node:fs";
import { pino } from "pino";
import { createNode } from "../../dist/index.js";

const { settings, roles, actsPath } = JSON.parse(process.argv[2]);
const now = () => process.hrtime.bigint();
const say = (message) => process.send?.({ ...message, at: message.at ?? now().toString() });
const errorOf = (error) => ({ code: error.code ?? error.name, message: error.message });

process.on("disconnect", () => process.exit());
const logger = pino(
  { base: null, timestamp: false },
  { write: (line) => say({ kind: "log", line: JSON.parse(line) }) },
);

/** The term of the last election of a role; a stale one is kept, so that a test can act under it. */
const terms = new Map();
const gates = new Map();
let finishWrite = () => undefined;
let inFlight = null;

const works = {
  idle: () => undefined,
  throws: () => Promise.reject(new Error("the work cannot start")),
  stubborn: () => new Promise(() => undefined),
};

function contend(node, { name, work }) {
  const role = node.role(name);
  for (const kind of ["elected", "lost", "changed"]) {
    role.on(kind, (event) => say({ kind, ...event, epoch: event.epoch.toString() }));
  }
  role.lead((term) => {
    terms.set(name, term);
    return works[work]();
  });
  gates.set(name, { gate: role.gate, open: false });
}

/** Null where the gate shut between the two looks. */
function epochOf(gate) {
  try {
    return gate.requireLeader().epoch;
  } catch {
    return null;
  }
}

/** A thousand times a second: an act under each open gate, on file at once, since a killed process reports no more. */
function act(file) {
  for (const [role, known] of gates) {
    const before = now();
    const epoch = known.gate.isLeader ? epochOf(known.gate) : null;
    const after = now();
    const open = epoch !== null;
    if (open) writeSync(file, `${role} ${epoch} ${before} ${after}\n`);
    // Open since before the look, shut after it: a process that was frozen in between did not see it shut before.
    if (open !== known.open) say({ kind: "gate", role, open, at: (open ? before : after).toString() });
    known.open = open;
  }
  setTimeout(act, 1, file);
}

const commands = {
  clock: () => ({ wallMs: Date.now() }),
  gate: (_node, { role }) => ({ open: gates.get(role).gate.isLeader }),
  leader: (node, { role }) => {
    const view = node.role(role).leader();
    return { leader: view === null ? null : view.nodeId };
  },
  /** Keeps the event loop busy, then looks at the gate before any timer or socket had a chance. */
  block: (_node, { role, ms }) => {
    const { gate } = gates.get(role);
    const before = gate.isLeader;
    const until = performance.now() + ms;
    while (performance.now() < until);
    return { before, after: gate.isLeader };
  },
  stepDown: (node, { role, to }) => node.role(role).stepDown(to === undefined ? {} : { to }),
  contend: (node, order) => contend(node, order),
  requireLeader: (_node, { role }) => void gates.get(role).gate.requireLeader(),
  ensureEpoch: (_node, { role, epoch }) => gates.get(role).gate.ensureEpoch(BigInt(epoch)),
  /** Of the last term that this process had. */
  require: (_node, { role }) => terms.get(role).require(),
  verify: (_node, { role }) => terms.get(role).verify(),
  query: (_node, { role, sql }) => terms.get(role).transaction((tx) => tx.query(sql).then(({ rows }) => rows)),
  /** Writes, and leaves the transaction open until `finishWrite`. */
  openWrite: async (_node, { role, sql }) => {
    const finished = new Promise((resolve) => {
      finishWrite = resolve;
    });
    await terms.get(role).transaction(async (tx) => {
      await tx.query(sql);
      say({ kind: "written", role });
      await finished;
    });
  },
  finishWrite: () => finishWrite(),
  /** Fenced transactions without a pause, so many at a time, until the term ends. */
  load: (_node, { role, sql, clients }) => {
    const term = terms.get(role);
    const loop = async () => {
      while (!term.signal.aborted) await term.transaction((tx) => tx.query(sql));
    };
    for (let client = 0; client < clients; client += 1)
      loop().catch((/** @type {unknown} */ error) => say({ kind: "loadEnded", ...errorOf(error) }));
  },
  /** Work that a drain has to wait for, until `leaveWork`. */
  enterWork: (node) => {
    inFlight = node.work.enter();
  },
  leaveWork: () => inFlight[Symbol.dispose](),
  /** The owner of the listener has a handler for its errors, so the process lives on. */
  throwWhenDraining: (node) => {
    process.on("uncaughtException", ({ message }) => say({ kind: "uncaught", message }));
    node.on("draining", () => {
      throw new Error("the listener failed");
    });
  },
  drain: (node) => node.drain(),
  close: (node) => node.close(),
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

const started = createNode({ ...settings, logger });
try {
  const node = await started;
  for (const role of roles) contend(node, role);
  act(openSync(actsPath, "a"));
  say({ kind: "started", nodeId: node.id });
} catch (error) {
  say({ kind: "failed", ...errorOf(error) });
}
