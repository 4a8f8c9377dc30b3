import { beforeEach, describe, expect, it } from "vitest";
import type { Store } from "../store/contract.js";
import { systemClock } from "./clock.js";
import type { ElectorState, RoleState, Term } from "./core/elector-state.js";
import type { Holder } from "./core/lease.js";
import type { Epoch, NodeId, Role } from "./core/names.js";
import type { Elector } from "./elector.js";
import { RoleHandle } from "./role.js";

const name = "scheduler" as Role;
const holder = { nodeId: "a" as NodeId } as Holder;
const nothing = (): void => undefined;

/** A role whose elector is this test: it says what the gate goes by, and hears what it is told. */
class Scene {
  readonly failed: unknown[] = [];
  readonly handle: RoleHandle<unknown>;
  private readonly term = {
    epoch: 7n as Epoch,
    phase: "leading",
    trust: { since: { mono: systemClock.mono(), wall: systemClock.wall(), boot: systemClock.boot() }, lengthMs: 1e6 },
    shutAt: null,
  } as unknown as Term;
  private readonly state = {
    roles: new Map([[name, { term: this.term } as RoleState]]),
    settings: { terms: { evidenceGraceMs: 0, takeover: "lease" } },
  } as unknown as ElectorState;

  constructor() {
    this.handle = new RoleHandle<unknown>({
      name,
      elector: { state: this.state, dispatch: nothing } as unknown as Elector,
      store: {} as Store<unknown>,
      holder,
      clock: systemClock,
      observer: {
        elected: nothing,
        lost: nothing,
        gateBlocked: nothing,
        fenceRejected: nothing,
        workFailed: (_role, _epoch, error) => this.failed.push(error),
      },
      alsoEnded: async () => await Promise.resolve(),
    });
  }

  elect(): void {
    this.handle.onStepped(this.state);
    const { epoch, trust } = this.term;
    this.handle.onElected({ kind: "elected", role: name, epoch, trust, cause: "first", gapMs: 0 });
  }

  /** Between a lost session and the next renewal. */
  shut(isShut: boolean): void {
    this.term.shutAt = isShut ? systemClock.mono() : null;
    this.handle.onStepped(this.state);
  }
}

describe("the work of a leader", () => {
  let scene: Scene;

  beforeEach(() => {
    scene = new Scene();
  });

  it("goes on after the gate was shut for a moment, though it has opened again before the refusal came through", async () => {
    const runs: number[] = [];
    scene.handle.lead(async (term) => {
      runs.push(runs.length);
      if (runs.length > 1) return;
      scene.shut(true);
      try {
        term.require();
      } finally {
        scene.shut(false);
        await Promise.resolve();
      }
    });
    scene.elect();
    await expect.poll(() => runs).toEqual([0, 1]);
    expect(scene.failed).toEqual([]);
  });

  it("has failed where it throws the same refusal again, or one that an open gate gave", async () => {
    let refusal: unknown = null;
    const runs = { same: 0, open: 0 };
    scene.handle.lead(() => {
      runs.same += 1;
      scene.shut(true);
      try {
        if (refusal === null) scene.handle.gate.requireLeader();
      } catch (error) {
        refusal = error;
      }
      scene.shut(false);
      throw refusal;
    });
    scene.handle.lead(() => {
      runs.open += 1;
      scene.handle.gate.ensureEpoch(6n);
    });
    scene.elect();
    await expect.poll(() => scene.failed.length).toBe(2);
    expect(runs).toEqual({ same: 2, open: 1 });
  });
});
