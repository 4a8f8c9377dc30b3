import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { epochOf, type Incarnation, type NodeId, type Role } from "../election/core/names.js";
import { type ErrorCode, HoldfastError } from "../errors.js";
import type { CronBook, CronDefinition, CronFiring } from "../store/cron-contract.js";
import type { FenceToken } from "../store/fence-token.js";
import { MemoryCronBook } from "../store/memory/cron-book.js";
import { MemoryCronTables } from "../store/memory/cron-tables.js";
import { MemoryJobTables } from "../store/memory/job-tables.js";
import { TestClock } from "../testing.js";
import { CronTerm } from "./cron-term.js";
import { definitionOf } from "./new-cron.js";

const secondMs = 1_000;
const minuteMs = 60_000;
const fence: FenceToken = {
  role: "scheduler" as Role,
  epoch: epochOf(1),
  holder: { nodeId: "a" as NodeId, incarnation: "a-1" as Incarnation, url: null },
};
const settings = {
  maxAttempts: 3,
  timeoutMs: minuteMs,
  backoff: { firstMs: 1, capMs: 2 },
  leaseTtlMs: minuteMs,
  drainGraceMs: 0,
};
const failure = (code: ErrorCode): HoldfastError => new HoldfastError(code, "so the test wants it");

/** A leader's crons on a store that does what the test says. */
class Scene {
  readonly clock = new TestClock();
  readonly jobTables = new MemoryJobTables(
    () => this.clock.wall(),
    () => "one",
  );
  readonly troubles: string[] = [];
  readonly counted = { fired: 0, missed: 0, submitted: 0 };
  stirred = 0;
  readonly messages: number[] = [];
  readonly ending = new AbortController();
  definitions: CronDefinition[] = [];
  /** What becomes of the next looks and firings. */
  lookFails: () => boolean = () => false;
  fireFails: (firings: readonly CronFiring[]) => "no" | "before" | "after" | "refused" = () => "no";
  private readonly store: CronBook;
  private term: CronTerm | null = null;
  private running: Promise<void> = Promise.resolve();

  constructor() {
    this.store = new MemoryCronBook(new MemoryCronTables(), this.jobTables, async (_fence, fn) => {
      const effects: (() => void)[] = [];
      await fn({ onCommit: (effect) => effects.push(effect) });
      for (const effect of effects) effect();
    });
  }

  private book(): CronBook {
    const { store } = this;
    return {
      define: async (...order) => await store.define(...order),
      look: async () => {
        if (this.lookFails()) throw failure("DATABASE_AWAY");
        return await store.look();
      },
      fire: async (token, firings) => {
        const fails = this.fireFails(firings);
        if (fails === "before") throw failure("UNKNOWN_OUTCOME");
        if (fails === "refused") throw failure("DATABASE_REFUSED");
        this.messages.push(firings.flatMap(({ jobs }) => jobs).length);
        const outcome = await store.fire(token, firings);
        if (fails === "after") throw failure("UNKNOWN_OUTCOME");
        return outcome;
      },
      trigger: async (...order) => await store.trigger(...order),
      setPaused: async (...order) => await store.setPaused(...order),
      history: async (...order) => await store.history(...order),
      forget: async (...order) => await store.forget(...order),
    };
  }

  async start(...names: readonly string[]): Promise<void> {
    this.define(...names);
    const { counted } = this;
    this.term = new CronTerm(
      {
        book: this.book(),
        settings,
        clock: this.clock,
        counts: {
          known: () => undefined,
          fired: (_cron, ticks) => (counted.fired += ticks),
          missed: (_cron, ticks) => (counted.missed += ticks),
        },
        trouble: (what) => this.troubles.push(what),
        submitted: (jobs) => {
          counted.submitted += jobs;
          this.stirred += 1;
        },
        definitions: () => this.definitions,
      },
      fence,
      this.ending.signal,
    );
    this.running = this.term.run();
    await this.clock.advance(0);
  }

  define(...names: readonly string[]): void {
    const cron = { schedule: "* * * * * *", op: "tick", missed: "catch_up", catchUpMax: 5_000 } as const;
    this.definitions = names.map((name) => definitionOf({ ...cron, name }, "code"));
    this.term?.redefine();
  }

  /** How many seconds lie between the jobs of a cron, one after the other. */
  pausesOf(cron: string): readonly number[] {
    const ticks = [...this.jobTables.jobs.values()].filter((job) => job.cron === cron).map(({ tick }) => tick ?? 0);
    return ticks.slice(1).map((tick, index) => (tick - (ticks[index] ?? 0)) / secondMs);
  }

  async end(): Promise<void> {
    this.ending.abort();
    await this.clock.advance(0);
    await this.running;
  }
}

describe("the crons of a term", () => {
  let scene: Scene;

  beforeEach(() => {
    scene = new Scene();
  });

  afterEach(async () => {
    await scene.end();
  });

  it("tell whoever waits for work also where the reply to a firing was lost", async () => {
    await scene.start("a");
    const { stirred } = scene;
    scene.fireFails = () => {
      scene.fireFails = () => "no";
      return "after";
    };
    await scene.clock.advance(1_000);
    expect(scene.stirred).toBe(stirred + 1);
  });

  it("fire each tick once where replies are lost after the commit", async () => {
    let fires = 0;
    scene.fireFails = () => (fires++ % 2 === 0 ? "after" : "no");
    await scene.start("a");
    await scene.clock.advance(20 * secondMs);
    expect(scene.pausesOf("a").length).toBeGreaterThanOrEqual(18);
    expect(new Set(scene.pausesOf("a"))).toEqual(new Set([1]));
  });

  it("fire each tick once where requests are lost", async () => {
    let fires = 0;
    scene.fireFails = () => (fires++ % 3 === 0 ? "before" : "no");
    await scene.start("a");
    await scene.clock.advance(20 * secondMs);
    expect(scene.pausesOf("a").length).toBeGreaterThanOrEqual(18);
    expect(new Set(scene.pausesOf("a"))).toEqual(new Set([1]));
    expect(scene.counted).toEqual({ fired: scene.pausesOf("a").length + 1, missed: 0, submitted: scene.counted.fired });
  });

  it("wait for a database that is away, say so once, and make up for what they missed", async () => {
    await scene.start("a");
    await scene.clock.advance(2 * secondMs);
    scene.lookFails = () => true;
    await scene.clock.advance(minuteMs);
    expect(scene.troubles).toEqual(["crons could not be looked at, and are tried again"]);
    scene.lookFails = () => false;
    await scene.clock.advance(5 * secondMs);
    expect(scene.pausesOf("a").length).toBeGreaterThanOrEqual(64);
    expect(new Set(scene.pausesOf("a"))).toEqual(new Set([1]));
  });

  it("put a cron aside that the database refuses, and fire the others", async () => {
    scene.fireFails = (firings) => (firings.some(({ order }) => order.cron === "bad") ? "refused" : "no");
    await scene.start("a", "bad", "c");
    await scene.clock.advance(30 * secondMs);
    expect(scene.pausesOf("a").length).toBeGreaterThanOrEqual(28);
    expect(scene.pausesOf("c")).toEqual(scene.pausesOf("a"));
    expect(scene.troubles).toEqual(["cron bad cannot fire, and is tried less and less often"]);
    scene.fireFails = () => "no";
    await scene.clock.advance(minuteMs);
    expect(scene.pausesOf("bad").length).toBeGreaterThanOrEqual(85);
  });

  it("are late by no more than twice as long as the database refuses everything, as on a full disk", async () => {
    scene.fireFails = () => "refused";
    await scene.start("a");
    await scene.clock.advance(4 * secondMs);
    scene.fireFails = () => "no";
    await scene.clock.advance(4 * secondMs);
    expect(scene.pausesOf("a").length).toBeGreaterThanOrEqual(6);
    expect(new Set(scene.pausesOf("a"))).toEqual(new Set([1]));
  });

  it("submit many jobs at once in several transactions", async () => {
    await scene.start("a");
    await scene.clock.advance(secondMs);
    scene.lookFails = () => true;
    await scene.clock.advance(1_200 * secondMs);
    scene.lookFails = () => false;
    scene.messages.length = 0;
    await scene.clock.advance(3 * secondMs);
    expect(scene.messages.slice(0, 2)).toEqual([500, 500]);
    expect(Math.max(...scene.messages)).toBe(500);
    expect(scene.pausesOf("a").length).toBeGreaterThanOrEqual(1_200);
    expect(new Set(scene.pausesOf("a"))).toEqual(new Set([1]));
  });

  it("sleep while nothing is due, and stop when the term ends", async () => {
    await scene.start();
    let looks = 0;
    scene.lookFails = () => {
      looks += 1;
      return false;
    };
    await scene.clock.advance(10 * minuteMs);
    expect(looks).toBeLessThanOrEqual(10);
    scene.define("late");
    await scene.clock.advance(3 * secondMs);
    expect(scene.pausesOf("late").length).toBeGreaterThanOrEqual(1);
    await scene.end();
    const before = scene.jobTables.jobs.size;
    await scene.clock.advance(minuteMs);
    expect(scene.jobTables.jobs.size).toBe(before);
  });
});
