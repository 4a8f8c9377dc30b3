import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { epochOf } from "../../src/election/core/names.js";
import { memoryHarness, Player, postgresHarness, role, type StoreHarness } from "./harness.js";

/**
 * The SQL of the PostgreSQL store says the same as the pure lease rules, which the store in memory runs: whatever two nodes
 * do in whatever order, both databases answer alike. Times are chosen so that no answer hangs on some milliseconds.
 */
type Act =
  | { readonly kind: "acquire"; readonly by: 0 | 1; readonly hold: boolean; readonly delayed: boolean }
  | { readonly kind: "renew"; readonly by: 0 | 1; readonly behind: number }
  | { readonly kind: "release"; readonly by: 0 | 1; readonly behind: number; readonly to: string | null }
  | { readonly kind: "lock"; readonly by: 0 | 1; readonly order: "take" | "drop" }
  | { readonly kind: "pass"; readonly ms: number }
  | { readonly kind: "advanceEpoch"; readonly by: number }
  | { readonly kind: "becomeAnother" };

const player = fc.constantFrom<0 | 1>(0, 1);
const behind = fc.constantFrom(0, 0, 0, 0, 0, 1, -1);
const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("acquire" as const),
      by: player,
      hold: fc.boolean(),
      delayed: fc.boolean(),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("renew" as const), by: player, behind }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("release" as const),
      by: player,
      behind,
      to: fc.constantFrom(null, "a", "b"),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("lock" as const),
      by: player,
      order: fc.constantFrom<"take" | "drop">("take", "drop"),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("pass" as const), ms: fc.constantFrom(17_000, 61_000) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("advanceEpoch" as const), by: fc.constantFrom(0, 50) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("becomeAnother" as const) }) },
);

/** One database with two nodes, and the same acts done to it. */
class Side {
  private readonly harness: StoreHarness;
  private readonly players: readonly [Player, Player];
  private readonly holding = new Set<0 | 1>();

  private constructor(harness: StoreHarness, players: readonly [Player, Player]) {
    this.harness = harness;
    this.players = players;
  }

  static async open(harness: StoreHarness): Promise<Side> {
    return new Side(harness, [await Player.join(harness, "a"), await Player.join(harness, "b")]);
  }

  async reset(): Promise<void> {
    for (const by of [0, 1] as const) await this.orderLock(by, "drop");
    await this.harness.reset();
  }

  /** What an observer can tell of the act, without times and without epochs that carry a date. */
  async do(what: Act): Promise<unknown> {
    const outcome = await this.perform(what);
    const { view } = await this.players[0].beat();
    const dated = view.epoch > 1_000_000n;
    return {
      outcome,
      holder: view.holder,
      epoch: dated ? "dated" : view.epoch,
      open: view.remainingMs <= 0,
      reserved: view.reservedFor,
    };
  }

  private async perform(what: Act): Promise<unknown> {
    switch (what.kind) {
      case "acquire": {
        const wishes = {
          // So long that no clock of the two is near a limit which the other has passed.
          terms: { ttlMs: 50_000, onStall: what.hold ? "hold" : "depose" } as const,
          delayMs: what.delayed ? 50_000 : 0,
        };
        const reply = await this.players[what.by].acquire(wishes);
        return reply.kind === "acquired" ? `acquired: ${reply.cause}` : reply.kind;
      }
      case "renew":
        return await this.players[what.by].renew((await this.epoch()) - BigInt(what.behind));
      case "release":
        return await this.players[what.by].release((await this.epoch()) - BigInt(what.behind), what.to);
      case "lock":
        return await this.orderLock(what.by, what.order);
      case "pass":
        return await this.harness.advance(what.ms);
      case "advanceEpoch":
        await this.players[0].store.advanceEpoch(role, epochOf((await this.epoch()) + BigInt(what.by)));
        return "advanced";
      case "becomeAnother":
        return await this.harness.becomeAnother();
    }
  }

  /** The contract: a lock is taken by a session that does not hold it, and dropped by one that does. */
  private async orderLock(by: 0 | 1, order: "take" | "drop"): Promise<unknown> {
    if (this.holding.has(by) === (order === "take")) return "nothing to do";
    const holds = (await this.players[by].beat({ lock: order })).answer?.holdsLock === true;
    if (holds) this.holding.add(by);
    else this.holding.delete(by);
    return holds;
  }

  private async epoch(): Promise<bigint> {
    return (await this.players[0].beat()).view.epoch;
  }

  async close(): Promise<void> {
    for (const each of this.players) each.crash();
    await this.harness[Symbol.asyncDispose]();
  }
}

describe("the two stores", () => {
  let memory: Side;
  let postgres: Side;

  beforeAll(async () => {
    memory = await Side.open(await memoryHarness());
    postgres = await Side.open(await postgresHarness());
  });

  afterAll(async () => {
    await memory.close();
    await postgres.close();
  });

  it("answer alike, whatever two nodes do", { timeout: 120_000 }, async () => {
    const run = process.env.HOLDFAST_LONG === "1" ? { numRuns: 600, seed: 20 } : { numRuns: 120, seed: 20 };
    const seen = new Set<string>();
    const alike = fc.asyncProperty(fc.array(act, { minLength: 3, maxLength: 24 }), async (acts) => {
      await memory.reset();
      await postgres.reset();
      for (const each of acts) {
        const expected = await memory.do(each);
        seen.add(`${each.kind} ${String((expected as { outcome: unknown }).outcome)}`);
        expect(await postgres.do(each)).toEqual(expected);
      }
    });
    await fc.assert(alike, run);
    const acquired = ["first", "released", "handover", "expired"].map((cause) => `acquire acquired: ${cause}`);
    for (const outcome of [...acquired, "acquire held", "acquire reserved", "acquire stalled", "acquire quarantined"]) {
      expect(seen).toContain(outcome);
    }
    for (const outcome of ["renewed", "superseded", "expired", "database_changed"])
      expect(seen).toContain(`renew ${outcome}`);
  });
});
