import { keepsOffUntil } from "../../src/election/core/campaigning.js";
import type { ElectorState } from "../../src/election/core/elector-state.js";
import type { Holder } from "../../src/election/core/lease.js";
import type { Effect, LinkName, Notice, WaitReply } from "../../src/election/core/messages.js";
import type { Epoch, Role } from "../../src/election/core/names.js";
import type { NodeClock } from "./clocks.js";
import type { Connection, Endpoint, Surroundings } from "./connection.js";
import type { NodePlan } from "./scenario.js";
import { Violation } from "./violation.js";
import type { Work } from "./work.js";

/** What the effects of a node's elector act on. */
export interface Actor extends Endpoint {
  readonly plan: NodePlan;
  readonly around: Surroundings;
  readonly holder: Holder;
  readonly state: ElectorState;
  readonly clock: NodeClock;
  readonly links: ReadonlyMap<string, Connection>;
  readonly works: ReadonlyMap<Role, Work>;
  beats: number;
  wakeAt(mono: number): void;
  connect(link: LinkName): void;
  disconnect(link: LinkName): void;
  startWork(role: Role, epoch: Epoch): void;
  announce(role: Role, notice: Notice): void;
}

/** Carries one effect out: the simulator's counterpart of what the runtime does with a store. */
export function carryOut(node: Actor, effect: Effect): void {
  const { world, server, coverage } = node.around;
  if (effect.kind !== "wake") world.trace.note(world.now, node.index, `> ${effect.kind}`, effect);
  switch (effect.kind) {
    case "wake":
      return node.wakeAt(effect.at);
    case "open":
      return node.connect(effect.link);
    case "close":
      return node.disconnect(effect.link);
    case "beat":
      return beat(node, effect);
    case "pulse":
      return node.links.get("lock")?.request(effect.id, (_, answer) => answer({ kind: "pulseReplied", id: effect.id }));
    case "wait":
      return wait(node, effect);
    case "acquire":
      return acquire(node, effect);
    case "release":
      return release(node, effect);
    case "reap": {
      const { incarnation } = node;
      const { nodeTimeoutMs } = node.plan.timing;
      node.links.get("witness")?.request(effect.id, (_, answer) => {
        server.reap(incarnation, effect.roles, nodeTimeoutMs);
        answer({ kind: "reapReplied", id: effect.id });
      });
      return;
    }
    case "elected":
      return node.startWork(effect.role, effect.epoch);
    case "draining":
      return node.works.get(effect.role)?.stop();
    case "ended":
      coverage.count("end", effect.reason);
      return node.works.get(effect.role)?.stop();
    case "evidenceRefused":
      return coverage.count("void", effect.reason);
    case "changed":
      return;
  }
}

function beat(node: Actor, effect: Extract<Effect, { kind: "beat" }>): void {
  const { server, coverage } = node.around;
  const { holder } = node;
  node.beats += 1;
  for (const { heir, role } of effect.orders) if (heir === "take") checkMayInherit(node, role);
  node.links.get("lock")?.request(effect.id, (session, answer) => {
    server.noteBeat(holder.incarnation);
    const reply = server.database.beat(session, holder, effect.orders, effect.sessions);
    for (const { renewal } of reply.answers) {
      if (renewal === null) continue;
      coverage.count("renewal", renewal.kind);
      if (renewal.kind === "lost") coverage.count("loss", renewal.reason);
    }
    answer({ kind: "beatReplied", id: effect.id, reply });
  });
}

/** R10. Whoever is invited by a step-down may lead at once, and so may inherit. */
function checkMayInherit({ plan, index, state, clock, around }: Actor, role: Role): void {
  const known = state.roles.get(role);
  const isInvited = known?.view?.reservedFor === plan.id;
  if (known !== undefined && keepsOffUntil(known) > clock.mono(around.world.now) && !isInvited)
    throw new Violation("R10", `node ${index} keeps off ${role} and would be heir`);
  if (plan.timing.acquireDelayMs > 0)
    throw new Violation("R10", `node ${index} has an acquire delay and would be heir`);
  if (!plan.promotable && !isInvited) throw new Violation("R10", `node ${index} is not promotable and would be heir`);
}

function wait(node: Actor, effect: Extract<Effect, { kind: "wait" }>): void {
  const { world, server, coverage } = node.around;
  const { role, id, prior, sliceMs } = effect;
  const connection = node.links.get(`campaign/${role}`);
  connection?.request(id, (session, answer) => {
    const reply = (waited: WaitReply): void => {
      coverage.count("wait", waited.kind);
      answer({ kind: "waitReplied", role, id, reply: waited });
    };
    let isOver = false;
    const seen = server.database.wait(session, role, prior, (granted) => {
      isOver = true;
      reply(granted);
    });
    if (seen.kind === "unheld") return reply({ kind: "unheld" });
    world.after(sliceMs, () => {
      if (isOver || !server.isAlive(session)) return;
      server.database.endWait(session, role);
      reply({ kind: "timeout", sighting: seen.sighting });
    });
  });
}

function acquire(node: Actor, effect: Extract<Effect, { kind: "acquire" }>): void {
  const { world, server, coverage } = node.around;
  const { holder } = node;
  const { role, id, terms, sessions, evidence, acquireDelayMs, timeoutMs } = effect;
  const request = { holder, terms, sessions, evidence, acquireDelayMs };
  node.links.get(`campaign/${role}`)?.request(id, (session, answer) => {
    whenFenceIsFree(node, role, timeoutMs / 2, () => {
      if (!server.isAlive(session)) return;
      const reply = server.database.acquire(session, role, request);
      world.trace.note(world.now, -1, `acquire: ${reply.kind}`, reply);
      coverage.count("acquire", reply.kind);
      if (reply.kind === "acquired") {
        coverage.count("cause", reply.cause);
        node.announce(role, { kind: "elected", epoch: reply.epoch });
      }
      if (reply.kind === "void" && reply.reason === "lock_not_held") coverage.count("void", reply.reason);
      const hasRunOut = server.database.lease(role).expiresAt <= server.database.now();
      if (reply.kind === "blocked" && hasRunOut) server.endBlockers(role);
      answer({ kind: "acquireReplied", role, id, reply });
    });
  });
}

/** An acquire waits for the fenced writes that hold the fence, as long as its lock timeout lets it. */
function whenFenceIsFree(node: Actor, role: Role, forMs: number, act: () => void): void {
  const { world, server } = node.around;
  if (forMs <= 0 || !server.fenceIsHeld(role)) return act();
  world.after(2, () => whenFenceIsFree(node, role, forMs - 2, act));
}

function release(node: Actor, effect: Extract<Effect, { kind: "release" }>): void {
  const { world, server } = node.around;
  const { holder } = node;
  const { role, epoch, to, reserveMs, reason, dropLock } = effect;
  node.links.get("lock")?.request(null, (session, answer) => {
    const released = server.database.release(session, role, { epoch, holder, to, reserveMs }, reason, dropLock);
    world.trace.note(world.now, -1, released ? "released" : "not released", { role, epoch });
    if (released) node.announce(role, { kind: "released", epoch, to });
    answer(null);
  });
}
