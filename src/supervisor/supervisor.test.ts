import { PassThrough } from "node:stream";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { type Clock, systemClock } from "../election/clock.js";
import type { ChildPlan } from "./child-plan.js";
import type { RunningChild } from "./child-process.js";
import type { ChildName, Exit } from "./core/messages.js";
import { Supervisor } from "./supervisor.js";

/** A child without a process. */
class FakeChild implements RunningChild {
  readonly pid = 1;
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();
  readonly exited: Promise<Exit>;
  readonly plan: ChildPlan;
  readonly signals: string[] = [];
  exit: (exit: Exit) => void = () => undefined;
  say: (message: unknown) => void = () => undefined;

  constructor(plan: ChildPlan) {
    this.plan = plan;
    this.exited = new Promise((resolve) => {
      this.exit = resolve;
    });
  }

  onMessage(listener: (message: unknown) => void): void {
    this.say = listener;
  }

  send(signal: string): void {
    this.signals.push(signal);
  }
}

/** A supervisor whose time and whose children a test moves. */
function supervised() {
  const children: FakeChild[] = [];
  const lines: { readonly level: number; readonly msg: string }[] = [];
  let now = 0;
  let due: { readonly at: number; readonly fire: () => void } | null = null;
  const clock: Clock = {
    ...systemClock,
    mono: () => now,
    wakeAt(at, fire) {
      const own = { at, fire };
      due = own;
      return () => {
        if (due === own) due = null;
      };
    },
  };
  const supervisor = new Supervisor({
    settings: {
      moonlight: true,
      stopMs: { controller: 20_000, agent: 5_000 },
      backoff: { firstMs: 250, capMs: 30_000 },
      healthyMs: 30_000,
      loopAfter: 5,
    },
    plans: {
      program: "main.js",
      agentProgram: null,
      env: {},
      cwd: "/",
      serviceConfig: null,
      agentUrl: null,
      ops: "/ops",
      agentDrainMs: 3_000,
      stopMs: { controller: 20_000, agent: 5_000 },
    },
    start: (plan) => {
      const child = new FakeChild(plan);
      children.push(child);
      return child;
    },
    clock,
    random: () => 0,
    log: pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }),
    write: () => undefined,
  });
  return {
    supervisor,
    lines,
    /** The process of this child that was started last. */
    child: (name: ChildName): FakeChild => children.findLast(({ plan }) => plan.child === name) as FakeChild,
    started: () => children.map(({ plan }) => plan.child),
    /** Lets time pass until what is due next. */
    untilDue: (): number => {
      const { at, fire } = due as unknown as { at: number; fire: () => void };
      const passed = at - now;
      now = at;
      fire();
      return passed;
    },
    isIdle: () => due === null,
  };
}

const serving = { kind: "serving", node_id: "a", url: "http://a" };
const says = (role: string) => ({ kind: "role", role });

describe("the supervisor", () => {
  it("starts the agent beside a standby by its controller's word, and stops it when that one leads", async () => {
    const { supervisor, child, started, untilDue } = supervised();
    supervisor.start();
    child("controller").say(serving);
    child("controller").say(says("STANDBY"));
    expect(child("agent").plan.words).toContain("a-worker");
    child("controller").say(says("LEADER"));
    expect(child("agent").signals).toEqual(["SIGTERM"]);
    expect(untilDue()).toBe(5_000);
    expect(child("agent").signals).toEqual(["SIGTERM", "SIGKILL"]);
    child("agent").exit({ code: null, signal: "SIGKILL" });
    await child("agent").exited;
    expect(started()).toEqual(["controller", "agent"]);
  });

  it("does not mind what is no word of a controller", () => {
    const { supervisor, child, started } = supervised();
    supervisor.start();
    for (const message of [null, "STANDBY", { kind: "role", role: 7 }]) child("controller").say(message);
    expect(started()).toEqual(["controller"]);
  });

  it("starts a child again when its pause is over, and says how it ended", async () => {
    const { supervisor, child, started, untilDue, lines } = supervised();
    supervisor.start();
    child("controller").exit({ code: 4, signal: null });
    await child("controller").exited;
    expect(started()).toEqual(["controller"]);
    expect(untilDue()).toBe(250);
    expect(started()).toEqual(["controller", "controller"]);
    expect(lines.map(({ msg }) => msg)).toEqual([
      "the controller starts",
      "the controller ended (exit code 4)",
      "the controller starts again in 0.25 s",
      "the controller starts",
    ]);
  });

  it("resolves with the exit code when no child is left, and leaves no timer", async () => {
    const { supervisor, child, isIdle } = supervised();
    supervisor.start();
    child("controller").say(serving);
    child("controller").say(says("STANDBY"));
    supervisor.stop();
    expect(child("controller").signals).toEqual([]);
    child("agent").exit({ code: 0, signal: null });
    await child("agent").exited;
    await Promise.resolve();
    expect(child("controller").signals).toEqual(["SIGTERM"]);
    supervisor.stopAtOnce();
    expect(child("controller").signals).toEqual(["SIGTERM", "SIGKILL"]);
    child("controller").exit({ code: null, signal: "SIGKILL" });
    expect(await supervisor.ended).toBe(1);
    expect(isIdle()).toBe(true);
  });
});
