import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ChildName, ControllerRole, Effect, Exit, Input } from "./messages.js";
import { dueAt, step } from "./supervisor-core.js";
import { initialState, type SupervisorSettings, type SupervisorState } from "./supervisor-state.js";

const settings: SupervisorSettings = {
  moonlight: true,
  stopMs: { controller: 20_000, agent: 5_000 },
  backoff: { firstMs: 250, capMs: 30_000 },
  healthyMs: 30_000,
  loopAfter: 5,
};

interface Process {
  readonly run: number;
  /** It ends by itself so long after it was asked to; null: never. */
  readonly obeysInMs: number | null;
  diesAt: number | null;
  /** Of a controller: what it last said. */
  said: ControllerRole | null;
}

function must(holds: boolean, rule: string): void {
  if (!holds) throw new Error(`Broken: ${rule}.`);
}

type Event =
  | { readonly kind: "wait"; readonly ms: number }
  | { readonly kind: "speak"; readonly role: ControllerRole }
  | { readonly kind: "crash"; readonly child: ChildName; readonly code: number };

/** Two children that do what processes do, in virtual time: obey late, never, or die by themselves. */
class World {
  state: SupervisorState = initialState(settings);
  now = 0;
  readonly alive: Record<ChildName, Process | null> = { controller: null, agent: null };
  readonly starts: { readonly child: ChildName; readonly at: number }[] = [];
  readonly ends: number[] = [];
  /** Since when the controller lives and has not said that it stands by; null while it cannot lead. */
  mayLeadSince: number | null = null;
  private readonly obedience: readonly (number | null)[];
  private readonly random: () => number;

  constructor(obedience: readonly (number | null)[], random: () => number) {
    this.obedience = obedience;
    this.random = random;
    this.give({ kind: "start" });
  }

  give(input: Input): void {
    const { state, effects } = step(this.state, input, this.now, this.random());
    this.state = state;
    for (const effect of effects) this.do(effect);
    this.look();
  }

  happen(event: Event): void {
    const { controller } = this.alive;
    if (event.kind === "wait") this.pass(event.ms);
    else if (event.kind === "crash") this.exit(event.child, { code: event.code, signal: null });
    else if (controller !== null) {
      controller.said = event.role;
      this.give({ kind: "serving", run: controller.run, place: { nodeId: "a", url: "http://a" } });
      this.give({ kind: "role", run: controller.run, role: event.role });
    }
  }

  /** Time passes from one thing that is due to the next: deaths of processes, and what the core asked to be woken for. */
  pass(ms: number): void {
    const until = this.now + ms;
    for (;;) {
      const deaths = Object.values(this.alive).flatMap((process) => process?.diesAt ?? []);
      const next = Math.min(dueAt(this.state) ?? Number.POSITIVE_INFINITY, ...deaths);
      this.now = Math.max(this.now, Math.min(next, until));
      const dying = (["agent", "controller"] as const).find(
        (child) => (this.alive[child]?.diesAt ?? until + 1) <= this.now,
      );
      if (dying !== undefined) {
        this.exit(dying, { code: 0, signal: null });
        continue;
      }
      this.give({ kind: "tick" });
      must((dueAt(this.state) ?? until + 1) > this.now, "a tick leaves nothing to be done in the same moment");
      if (next > until) return;
    }
  }

  private exit(child: ChildName, exit: Exit): void {
    const process = this.alive[child];
    if (process === null) return;
    this.alive[child] = null;
    this.give({ kind: "exited", child, run: process.run, exit });
  }

  private do(effect: Effect): void {
    if (effect.kind === "spawnController" || effect.kind === "spawnAgent") {
      const child = effect.kind === "spawnAgent" ? "agent" : "controller";
      must(this.alive[child] === null, `there is one process of the ${child}`);
      must(this.ends.length === 0, "nothing is started after the end");
      must(child !== "agent" || this.alive.controller?.said === "STANDBY", "an agent is started only beside a standby");
      const obeysInMs = this.obedience[this.starts.length % this.obedience.length] ?? null;
      this.alive[child] = { run: effect.run, obeysInMs, diesAt: null, said: null };
      this.starts.push({ child, at: this.now });
    }
    if (effect.kind === "signal") this.signal(effect);
    if (effect.kind === "end") this.ends.push(effect.exitCode);
  }

  private signal({ child, run, signal }: Extract<Effect, { kind: "signal" }>): void {
    const process = this.alive[child];
    if (process === null || process.run !== run) return;
    if (signal === "SIGKILL") process.diesAt = this.now;
    else if (process.obeysInMs !== null) process.diesAt ??= this.now + process.obeysInMs;
  }

  private look(): void {
    const { controller, agent } = this.alive;
    const mayLead = controller !== null && controller.said !== "STANDBY";
    this.mayLeadSince = mayLead ? (this.mayLeadSince ?? this.now) : null;
    if (this.mayLeadSince === null || agent === null) return;
    must(this.now - this.mayLeadSince <= settings.stopMs.agent, "no agent stays beside a controller that may lead");
  }
}

const events = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant("wait" as const), ms: fc.integer({ min: 0, max: 40_000 }) }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant("speak" as const),
        role: fc.constantFrom<ControllerRole>("LEADER", "STANDBY", "STANDBY", "DRAINING"),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant("crash" as const),
        child: fc.constantFrom<ChildName>("controller", "agent"),
        code: fc.constantFrom(0, 1, 4),
      }),
    },
  ),
  { maxLength: 60 },
);
const obedience = fc.array(fc.option(fc.integer({ min: 0, max: 60_000 })), { minLength: 1, maxLength: 8 });
const chance = fc.double({ min: 0, max: 1, noNaN: true });
const runs = { numRuns: 2_000 };

const worldAfter = (history: readonly Event[], obeys: readonly (number | null)[], random: number): World => {
  const world = new World(obeys, () => random);
  for (const event of history) world.happen(event);
  return world;
};

describe("whatever happens to its children, a node-controller", () => {
  it("has no agent beside a controller that may lead for longer than it takes to stop one, and never starts one there", () => {
    let beside = 0;
    fc.assert(
      fc.property(events, obedience, chance, (history, obeys, random) => {
        const world = worldAfter(history, obeys, random);
        // The world looks after every step; a minute more shows what is still to come.
        world.pass(60_000);
        beside += world.starts.filter(({ child }) => child === "agent").length;
      }),
      runs,
    );
    expect(beside, "agents were started at all").toBeGreaterThan(500);
  });

  it("leaves no child once it has been told to stop, ends once, in a bounded time, and starts none any more", () => {
    fc.assert(
      fc.property(events, events, obedience, fc.boolean(), (history, late, obeys, atOnce) => {
        const world = worldAfter(history, obeys, 0.5);
        world.give({ kind: "stop" });
        const started = world.starts.length;
        const { stopMs } = settings;
        if (atOnce) world.give({ kind: "stopAtOnce" });
        world.pass(atOnce ? 0 : stopMs.agent + stopMs.controller);
        expect(world.alive).toEqual({ controller: null, agent: null });
        expect(world.ends).toHaveLength(1);
        for (const event of late) world.happen(event);
        expect(world.starts).toHaveLength(started);
        expect(world.ends).toHaveLength(1);
      }),
      runs,
    );
  });

  it("comes to have a controller again, and an agent beside it where that one stands by", () => {
    fc.assert(
      fc.property(events, obedience, chance, (history, obeys, random) => {
        const world = worldAfter(history, obeys, random);
        world.pass(settings.backoff.capMs);
        expect(world.alive.controller).not.toBeNull();
        world.happen({ kind: "speak", role: "STANDBY" });
        world.pass(settings.stopMs.agent + settings.backoff.capMs);
        expect(world.alive.agent).not.toBeNull();
      }),
      runs,
    );
  });

  it("starts a child that fails by itself no more often than its backoff lets it, and at the first pause after health", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 30 }), chance, (failures, random) => {
        const world = new World([0], () => random);
        const pauseAfterCrash = (): number => {
          const before = world.now;
          world.happen({ kind: "crash", child: "controller", code: 1 });
          world.pass(settings.backoff.capMs);
          return (world.starts.at(-1)?.at ?? Number.NaN) - before;
        };
        const pauses = Array.from({ length: failures }, pauseAfterCrash);
        for (const [index, pause] of pauses.entries()) {
          const whole = Math.min(settings.backoff.capMs, settings.backoff.firstMs * 2 ** index);
          expect(pause).toBeGreaterThanOrEqual(Math.floor(whole * 0.8));
          expect(pause).toBeLessThanOrEqual(whole);
        }
        world.happen({ kind: "speak", role: "LEADER" });
        world.pass(settings.healthyMs);
        expect(pauseAfterCrash()).toBeLessThanOrEqual(settings.backoff.firstMs);
      }),
      { numRuns: 500 },
    );
  });
});
