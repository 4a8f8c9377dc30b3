// One node of the torture, in a process of its own: a service as a user of Holdfast would write it, on the built package. What it is
// told, and what it obeys, is in node-order.ts. It keeps its own history, in a file that a SIGKILL takes nothing from.
import { openSync, readdirSync, writeSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { pino } from "pino";
import { openEpochOf, watchGates } from "./node/gate-watch.mjs";
import { codeOf, openJournal } from "./node/journal.mjs";
import { openQueue } from "./node/orders-queue.mjs";
import { armedPoints } from "./node/points.mjs";
import { operationsOf } from "./node/worker.mjs";
import { openWriter } from "./node/writer.mjs";

const order = JSON.parse(process.argv[2]);
const { name, place, dist, task, service } = order;
const journal = openJournal(order.historyPath, name);
const logFile = openSync(order.logPath, "a");
const say = (message) => void process.send?.(message);
const points = armedPoints(say);
let leading = null;

process.on("disconnect", () => process.exit());
process.on("uncaughtException", (error) => fail("an error got past everybody", error));

const logger = pino(
  {},
  {
    write(line) {
      writeSync(logFile, line);
      const { msg, epoch } = JSON.parse(line);
      if (!/not known what was finished|could not be claimed/.test(msg)) return;
      journal.tell({ kind: "lost_track", role: "queue", epoch: `${epoch}` });
    },
  },
);

function fail(what, error) {
  writeSync(logFile, `${JSON.stringify({ level: 60, msg: what, code: codeOf(error), stack: error?.stack })}\n`);
  say({ kind: "failed", code: codeOf(error), message: `${what}: ${error?.message ?? error}` });
  process.exit(1);
}

async function load(file) {
  return await import(pathToFileURL(join(dist, file)).href);
}

const commands = {
  at_point: ({ point, signal }) => points.arm(point, signal),
  forget_points: () => points.forget(),
  block: ({ ms }) => {
    const until = performance.now() + ms;
    while (performance.now() < until);
  },
  resources: ({ when }) => {
    const { rss, heapUsed } = process.memoryUsage();
    const descriptors = readdirSync("/proc/self/fd").length;
    journal.tell({ kind: "resources", when, of: name, rssBytes: rss, heapBytes: heapUsed, descriptors });
  },
  leads: () => {
    const { node, roles } = leading;
    return roles.filter((role) => openEpochOf(node.role(role).gate) !== null);
  },
  step_down: ({ role }) => leading.node.role(role).stepDown(),
  close: async () => {
    await leading.node.close();
    await leading.server.close();
    setImmediate(() => process.exit(0));
  },
};

async function obey({ id, command, ...rest }) {
  try {
    const value = await commands[command](rest);
    say({ kind: "reply", id, value });
  } catch (error) {
    say({ kind: "reply", id, error: { code: codeOf(error), message: error.message } });
  }
}

async function start() {
  const [{ startNode }, { resolveConfig }, { startServer }] = await Promise.all(
    ["node.js", "config/config.js", "server/serve.js"].map(load),
  );
  const settings = task.jobs?.crons === true ? order.settings : { ...order.settings, crons: [] };
  const node = await startNode(resolveConfig(settings, false), { log: logger, serves: true });
  node.once("failed", (error) => fail("the node cannot go on", error));
  const roles = [
    ...(task.writer === undefined ? [] : ["writer"]),
    ...(task.queue === undefined ? [] : ["queue"]),
    ...(task.jobs === undefined ? [] : ["scheduler"]),
    ...(task.graphs === undefined ? [] : ["engine"]),
  ];
  watchGates(node, roles, { journal, points, say });
  if (task.writer !== undefined) {
    openWriter(node, { task: task.writer, store: order.settings.store, journal, points });
  }
  if (task.queue !== undefined) {
    const library = { ...(await load("queue.js")), ...(await load("http.js")) };
    await openQueue(node, { task: task.queue, service, journal, points, library });
  }
  if (task.jobs !== undefined) {
    const { createJobs } = await load("jobs.js");
    createJobs(node, { operations: operationsOf({ node: name, journal }), concurrency: 2 });
  }
  if (task.graphs !== undefined) await node.engine.open(task.graphs[place]);
  // What clients keep for their next request is closed before the end is compared with the beginning.
  const server = await startServer(node, { keepAliveTimeoutMs: 3_000 });
  leading = { node, roles, server };
}

try {
  await start();
  process.on("message", (message) => void obey(message));
  say({ kind: "started" });
} catch (error) {
  fail("the node did not start", error);
}
