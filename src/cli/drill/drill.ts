import { HoldfastError } from "../../errors.js";
import type { RoleAnswer } from "../../server/health-answers.js";
import type { NodeClient } from "../node-client.js";
import { oneLine } from "../paint.js";
import { untilAccounted } from "../takeover-account.js";
import { checkProcess, send } from "./leader-process.js";
import { rolePath, type Scene, type Unasked } from "./scene.js";
import { type Sight, TakeoverWatch, untilAnswer } from "./takeover.js";
import type { DrillReport, Timeline } from "./timeline.js";

export type DrillKind = DrillReport["kind"];

export interface Drill {
  readonly kind: DrillKind;
  readonly scene: Scene;
  /** Any node of the cluster; the leader itself is not asked after the blow. */
  readonly client: NodeClient;
  readonly timeline: Timeline;
  readonly timeoutMs: number;
  /** Somebody pressed Ctrl-C. */
  readonly interrupted: AbortSignal;
}

/** A node waits no longer for another one to act. */
const longestAskMs = 60_000;

/** Whether the drill can be done from here: before anything is asked or done. */
export function checkDrill(kind: DrillKind, { leader, role, standbys, unasked }: Scene, force: boolean): void {
  if (kind !== "clean") {
    checkProcess({ nodeId: leader.node_id, host: leader.host, pid: leader.pid, startedAt: leader.started_at });
  }
  if (standbys.length > 0 || force) return;
  const message =
    unasked.length === 0
      ? `No other node stands by for "${role}", so the drill would be an outage: start one, or add --force.`
      : `Whether a node stands by for "${role}" cannot be told from here, so nothing was done. ${unaskedLines(unasked).join(" ")}`;
  throw new HoldfastError("REFUSED", message);
}

/** Which nodes could not be asked, and why, a line each. */
export function unaskedLines(unasked: readonly Unasked[]): readonly string[] {
  return unasked.map(({ nodeId, why }) => `Node "${oneLine(nodeId)}" could not be asked: ${oneLine(why)}.`);
}

/** Does it, and measures from the moment of the blow. A frozen leader runs again however this ends. */
export async function runDrill(drill: Drill): Promise<DrillReport> {
  const { scene, timeline, kind } = drill;
  await checkStillLeads(drill);
  const watch = new TakeoverWatch(scene);
  let limit = AbortSignal.timeout(drill.timeoutMs);
  try {
    await watch.warm(AbortSignal.any([drill.interrupted, limit]));
    limit = AbortSignal.timeout(drill.timeoutMs); // From the blow, as all that is measured.
    const signal = AbortSignal.any([drill.interrupted, limit]);
    const sight = await strikeAndWait(drill, watch, signal);
    const account = await untilAccounted(
      witnessOf(drill, sight),
      { role: scene.role, epoch: sight.epoch },
      drill.interrupted,
    );
    const tookMs = timeline.add(
      `${sight.nodeId} answers as leader, epoch ${sight.epoch}${account === null ? "" : ` (${account.reason})`}`,
      sight.at,
    );
    for (const follower of await watch.followers(signal)) {
      timeline.add(`${follower.nodeId} follows it`, Math.max(follower.at, sight.at));
    }
    if (kind === "stall") await wake(drill, sight, signal);
    return {
      kind,
      role: scene.role,
      oldLeader: scene.leader.node_id,
      newLeader: sight.nodeId,
      oldEpoch: scene.epoch,
      newEpoch: sight.epoch,
      events: timeline.events,
      databaseGapMs: account === null || account.gap_seconds === null ? null : account.gap_seconds * 1000,
      tookMs,
    };
  } catch (error) {
    drill.interrupted.throwIfAborted();
    if (limit.aborted) throw overdue(drill);
    throw error;
  } finally {
    if (kind === "stall" && timeline.isStruck) resumeQuietly(scene);
    await watch.stop();
  }
}

/** The scene was read a while ago: a person may have thought about the question. */
async function checkStillLeads({ scene, client }: Drill): Promise<void> {
  const { url, node_id: nodeId } = scene.leader;
  const now = await (url === null ? client : client.anonymousAt(url)).get<RoleAnswer>(rolePath(scene.role));
  // A leader's own answer also tells whether it is that very process, and not another that was started under its name.
  const isIts = url === null || now.role !== "STANDBY";
  if (isIts && now.leader_id === nodeId && now.leader_epoch === scene.epoch) return;
  throw new HoldfastError(
    "REFUSED",
    `"${nodeId}" no longer leads "${scene.role}" under epoch ${scene.epoch}: try again.`,
  );
}

async function strikeAndWait(drill: Drill, watch: TakeoverWatch, signal: AbortSignal): Promise<Sight> {
  const { kind, scene, client, timeline, timeoutMs } = drill;
  const { node_id: nodeId, pid } = scene.leader;
  const led = `which led under epoch ${scene.epoch}`;
  if (kind === "clean") {
    timeline.strike(`${nodeId} is asked to step down, ${led}`);
    const path = `/cluster/leaders/${encodeURIComponent(scene.role)}/step-down?wait_ms=${Math.min(timeoutMs, longestAskMs)}`;
    const [sight] = await Promise.all([
      watch.leader(signal),
      client.post(path, { timeoutMs: timeoutMs + 1_000, signal }),
    ]);
    return sight;
  }
  const name = kind === "crash" ? "SIGKILL" : "SIGSTOP";
  timeline.strike(`${name} to ${nodeId} (pid ${pid}), ${led}`);
  send(pid, name, nodeId);
  return await watch.leader(signal);
}

/** A frozen leader wakes up: its gate must be shut before it does anything, and then it learns who leads. */
async function wake({ scene, client, timeline }: Drill, successor: Sight, signal: AbortSignal): Promise<void> {
  const { node_id: nodeId, pid, url } = scene.leader;
  timeline.add(`SIGCONT to ${nodeId} (pid ${pid})`);
  send(pid, "SIGCONT", nodeId);
  if (url === null) return;
  const old = client.anonymousAt(url);
  await untilAnswer(old, scene.role, ({ role }) => role === "STANDBY", signal);
  timeline.add(`${nodeId} answers as standby: its gate is shut`);
  await untilAnswer(old, scene.role, ({ leader_epoch: epoch }) => (epoch ?? 0) >= successor.epoch, signal);
  timeline.add(`${nodeId} knows of epoch ${successor.epoch}: it is fenced`);
}

function resumeQuietly({ leader: { pid } }: Scene): void {
  try {
    process.kill(pid, "SIGCONT");
  } catch {
    // It has ended meanwhile: nothing is left frozen.
  }
}

/** The successor knows best; where it is not known here, or must not have the token, whoever was asked. */
function witnessOf({ scene, client }: Drill, sight: Sight): NodeClient {
  const successor = scene.standbys.find(({ nodeId }) => nodeId === sight.nodeId);
  return (successor === undefined ? null : client.at(successor.client.url)) ?? client;
}

function overdue({ kind, scene, timeoutMs }: Drill): HoldfastError {
  const hint =
    kind === "stall" ? ' With on_stall = "hold" a frozen leader keeps the role; see "holdfast config check".' : "";
  return new HoldfastError(
    "REFUSED",
    `The takeover of "${scene.role}" was not over within ${timeoutMs / 1000} s: see "holdfast cluster leaders" and the nodes' logs.${hint}`,
  );
}
