import { Writable } from "node:stream";
import { type Logger, pino } from "pino";
import { epochOf, parseRole } from "../../src/election/core/names.js";
import type { FenceToken } from "../../src/store/fence-token.js";
import { MemoryCluster } from "../../src/store/memory/cluster.js";
import { MemoryDatabase } from "../../src/store/memory/database.js";
import { MemoryStore } from "../../src/store/memory/store.js";
import { TestClock } from "../../src/testing.js";

/** A database in memory, on which nothing moves but what a test runs under a term of its own. */
export class UpkeepScene {
  readonly clock = new TestClock();
  readonly database = new MemoryDatabase({ now: () => this.clock.wall() });
  readonly shared = new MemoryCluster(this.database, (ms, fire) => this.clock.wakeAt(this.clock.mono() + ms, fire));
  readonly store = new MemoryStore(this.shared, 5_000);
  readonly troubles: string[] = [];
  readonly lines: Record<string, unknown>[] = [];
  readonly log: Logger;

  constructor() {
    const output = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        this.lines.push(JSON.parse(chunk.toString()) as Record<string, unknown>);
        done();
      },
    });
    this.log = pino({ level: "debug" }, output);
  }

  readonly trouble = (what: string): void => {
    this.troubles.push(what);
  };

  /** A term of this role: the epoch of before leads no more. */
  elect(name: string): FenceToken {
    const role = parseRole(name);
    this.database.ensureRole(role);
    const epoch = this.database.advanceEpoch(role, epochOf(0));
    return { role, epoch, holder: { nodeId: "n", incarnation: "n-1", url: null } as FenceToken["holder"] };
  }

  /** Runs this leader's work until `during` is over. */
  async lead(
    name: string,
    work: { lead(term: { fence: FenceToken; signal: AbortSignal }): Promise<void> },
    during: () => Promise<void>,
  ): Promise<void> {
    const over = new AbortController();
    const working = work.lead({ fence: this.elect(name), signal: over.signal });
    await Promise.race([working, during()]);
    over.abort();
    await working;
  }
}
