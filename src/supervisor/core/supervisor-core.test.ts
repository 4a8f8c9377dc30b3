import { describe, expect, it } from "vitest";
import type { ChildName, ControllerRole, Effect, Exit, Input } from "./messages.js";
import { dueAt, step } from "./supervisor-core.js";
import { initialState, type SupervisorSettings, type SupervisorState } from "./supervisor-state.js";

const settings: SupervisorSettings = {
  moonlight: true,
  stopMs: { controller: 40_000, agent: 5_000 },
  backoff: { firstMs: 250, capMs: 30_000 },
  healthyMs: 30_000,
  loopAfter: 5,
};
const place = { nodeId: "a", url: "http://127.0.0.1:7400" };
const crash: Exit = { code: 1, signal: null };

/** Steps one supervisor by hand, and keeps what it asked for in the last step. */
class Driver {
  state: SupervisorState;
  now = 0;
  effects: readonly Effect[] = [];

  constructor(changed: Partial<SupervisorSettings> = {}) {
    this.state = initialState({ ...settings, ...changed });
    this.give({ kind: "start" });
  }

  give(input: Input): this {
    const { state, effects } = step(this.state, input, this.now, 0);
    this.state = state;
    this.effects = effects;
    return this;
  }

  /** The controller that runs now serves, and says where it stands. */
  says(role: ControllerRole): this {
    const run = this.state.controller.runs;
    this.give({ kind: "serving", run, place });
    return this.give({ kind: "role", run, role });
  }

  exits(child: ChildName, exit: Exit): this {
    return this.give({ kind: "exited", child, run: this.state[child].runs, exit });
  }

  wait(ms: number): this {
    this.now += ms;
    return this.give({ kind: "tick" });
  }

  /** Until time alone changes something; answers with how long that was. */
  untilDue(): number {
    const at = dueAt(this.state) ?? Number.NaN;
    const ms = at - this.now;
    this.wait(ms);
    return ms;
  }

  get asked(): readonly string[] {
    return this.effects.map((effect) => {
      if (effect.kind === "signal") return `${effect.signal} to ${effect.child}`;
      if (effect.kind === "tell") return effect.notice.kind;
      return effect.kind === "end" ? `end with ${effect.exitCode}` : effect.kind;
    });
  }
}

describe("a node-controller", () => {
  it("starts the controller, and no agent before the controller has said that it stands by", () => {
    const supervisor = new Driver();
    expect(supervisor.asked).toEqual(["spawnController"]);
    supervisor.give({ kind: "serving", run: 1, place });
    expect(supervisor.asked).toEqual([]);
    supervisor.give({ kind: "role", run: 1, role: "STANDBY" });
    expect(supervisor.effects).toEqual([{ kind: "spawnAgent", run: 1, beside: place }]);
  });

  it("waits with the agent until it knows where the controller serves", () => {
    const supervisor = new Driver().give({ kind: "role", run: 1, role: "STANDBY" });
    expect(supervisor.asked).toEqual([]);
    expect(supervisor.give({ kind: "serving", run: 1, place }).asked).toEqual(["spawnAgent"]);
  });

  it("has no agent where moonlighting is off", () => {
    expect(new Driver({ moonlight: false }).says("STANDBY").asked).toEqual([]);
  });

  it.each(["LEADER", "DRAINING"] as const)("turns the agent off when the controller says %s", (role) => {
    const supervisor = new Driver().says("STANDBY").give({ kind: "role", run: 1, role });
    expect(supervisor.asked).toEqual(["agentOff", "SIGTERM to agent"]);
    expect(supervisor.exits("agent", { code: 0, signal: null }).asked).toEqual([]);
    expect(supervisor.give({ kind: "role", run: 1, role: "STANDBY" }).asked).toEqual(["spawnAgent"]);
  });

  it("kills an agent that has not stopped in its time, once", () => {
    const supervisor = new Driver().says("STANDBY").give({ kind: "role", run: 1, role: "LEADER" });
    expect(supervisor.wait(4_999).asked).toEqual([]);
    expect(supervisor.wait(1).asked).toEqual(["SIGKILL to agent", "overdue"]);
    expect(supervisor.wait(5_000).asked).toEqual([]);
    expect(dueAt(supervisor.state)).toBeNull();
  });

  it("lets an agent that is stopping stop, also where it is wanted again, and then starts another", () => {
    const supervisor = new Driver().says("STANDBY").give({ kind: "role", run: 1, role: "LEADER" });
    expect(supervisor.give({ kind: "role", run: 1, role: "STANDBY" }).asked).toEqual([]);
    expect(supervisor.exits("agent", { code: 0, signal: null }).asked).toEqual(["spawnAgent"]);
    expect(supervisor.state.agent.failures).toBe(0);
  });

  it("turns the agent off when its controller is gone, and on beside the next one that stands by", () => {
    const supervisor = new Driver().says("STANDBY").exits("controller", { code: null, signal: "SIGKILL" });
    expect(supervisor.asked).toEqual(["restart", "agentOff", "SIGTERM to agent"]);
    supervisor.exits("agent", { code: 0, signal: null });
    expect(supervisor.untilDue()).toBe(250);
    expect(supervisor.asked).toEqual(["spawnController"]);
    expect(supervisor.says("STANDBY").asked).toEqual(["spawnAgent"]);
  });

  it("does not listen to what an earlier controller said", () => {
    const supervisor = new Driver().says("LEADER").exits("controller", crash);
    supervisor.untilDue();
    supervisor.give({ kind: "serving", run: 1, place }).give({ kind: "role", run: 1, role: "STANDBY" });
    expect(supervisor.asked).toEqual([]);
    expect(supervisor.state.role).toBeNull();
    expect(supervisor.give({ kind: "exited", child: "controller", run: 1, exit: crash }).asked).toEqual([]);
  });

  it("starts a child again after pauses that double up to the cap, and tells of a crash loop once", () => {
    const supervisor = new Driver({ loopAfter: 3 });
    const pauses = Array.from({ length: 9 }, () => {
      supervisor.exits("controller", crash);
      const told = supervisor.asked;
      return { pauseMs: supervisor.untilDue(), told };
    });
    expect(pauses.map(({ pauseMs }) => pauseMs)).toEqual([
      250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000,
    ]);
    const told = pauses.map((pause) => pause.told.includes("crashLoop"));
    expect(told.flatMap((isTold, index) => (isTold ? [index + 1] : []))).toEqual([3]);
  });

  it("forgets the failures of a child that has been healthy, and says so after a crash loop", () => {
    const supervisor = new Driver({ loopAfter: 2 });
    for (let failure = 0; failure < 2; failure += 1) {
      supervisor.exits("controller", crash);
      supervisor.untilDue();
    }
    supervisor.says("LEADER");
    expect(supervisor.untilDue()).toBe(30_000);
    expect(supervisor.asked).toEqual(["settled"]);
    supervisor.exits("controller", crash);
    expect(supervisor.untilDue()).toBe(250);
  });

  it("counts a controller as healthy only from when it serves", () => {
    const supervisor = new Driver().exits("controller", crash);
    supervisor.untilDue();
    supervisor.wait(60_000).exits("controller", crash);
    expect(supervisor.untilDue()).toBe(500);
  });

  it("keeps the pause of an agent that fails, however often the role changes meanwhile", () => {
    const supervisor = new Driver().says("STANDBY").exits("agent", crash);
    supervisor.give({ kind: "role", run: 1, role: "LEADER" });
    expect(supervisor.give({ kind: "role", run: 1, role: "STANDBY" }).asked).toEqual([]);
    expect(supervisor.untilDue()).toBe(250);
    expect(supervisor.asked).toEqual(["spawnAgent"]);
  });

  it("stops the agent first, then the controller, and ends with 0", () => {
    const supervisor = new Driver().says("STANDBY").give({ kind: "stop" });
    expect(supervisor.asked).toEqual(["SIGTERM to agent"]);
    expect(supervisor.exits("agent", { code: 0, signal: null }).asked).toEqual(["SIGTERM to controller"]);
    expect(supervisor.exits("controller", { code: 0, signal: null }).asked).toEqual(["end with 0"]);
    expect(supervisor.give({ kind: "stop" }).asked).toEqual([]);
  });

  it("ends at once where nothing runs, also in the middle of a pause", () => {
    expect(new Driver().exits("controller", crash).give({ kind: "stop" }).asked).toEqual(["end with 0"]);
  });

  it("kills both at the second signal, and ends with 1 when they are gone", () => {
    const supervisor = new Driver().says("STANDBY").give({ kind: "stop" }).give({ kind: "stopAtOnce" });
    expect(supervisor.asked).toEqual(["SIGKILL to agent", "SIGKILL to controller"]);
    expect(supervisor.exits("controller", { code: null, signal: "SIGKILL" }).asked).toEqual([]);
    expect(supervisor.exits("agent", { code: null, signal: "SIGKILL" }).asked).toEqual(["end with 1"]);
  });

  it("ends with 1 where the controller did not stop cleanly, or had to be killed", () => {
    const failing = new Driver().says("LEADER").give({ kind: "stop" });
    expect(failing.exits("controller", crash).asked).toEqual(["end with 1"]);
    const stuck = new Driver().says("LEADER").give({ kind: "stop" }).wait(40_000);
    expect(stuck.asked).toEqual(["SIGKILL to controller", "overdue"]);
    expect(stuck.exits("controller", { code: null, signal: "SIGKILL" }).asked).toEqual(["end with 1"]);
  });

  it("gives up, with 2, where a controller that never served is called wrongly again and again", () => {
    const supervisor = new Driver({ loopAfter: 3 });
    const wrong = { code: 2, signal: null };
    for (let failure = 1; failure < 3; failure += 1) {
      expect(supervisor.exits("controller", wrong).asked).toEqual(["restart"]);
      supervisor.untilDue();
    }
    expect(supervisor.exits("controller", wrong).asked).toEqual(["givenUp", "end with 2"]);
  });

  it("does not give up once the controller has served: its name may still be taken by its predecessor", () => {
    const supervisor = new Driver({ loopAfter: 2 }).says("LEADER");
    for (let failure = 1; failure < 9; failure += 1) {
      supervisor.exits("controller", { code: 2, signal: null });
      expect(supervisor.asked).toContain("restart");
      supervisor.untilDue();
    }
  });
});
