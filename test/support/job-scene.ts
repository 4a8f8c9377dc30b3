import { epochOf, parseRole } from "../../src/election/core/names.js";
import type { LeaseWish } from "../../src/jobs/lease-polls.js";
import type { FenceToken } from "../../src/store/fence-token.js";
import type { JobBook, JobReply } from "../../src/store/job-contract.js";
import type { JobOrder, Submission } from "../../src/store/job-orders.js";
import { MemoryJobBook } from "../../src/store/memory/job-book.js";
import { MemoryJobTables } from "../../src/store/memory/job-tables.js";
import { TestClock } from "../../src/testing.js";

export const jobFence: FenceToken = {
  role: parseRole("scheduler"),
  epoch: epochOf(7),
  holder: { nodeId: "node-a", incarnation: "i" } as FenceToken["holder"],
};

/** Jobs in memory whose database can be slow, fall silent or refuse, and that remember what they were asked to write. */
export class JobScene {
  readonly clock = new TestClock();
  readonly tables = new MemoryJobTables(
    () => this.clock.wall(),
    () => "g",
  );
  readonly applied: (readonly JobOrder[])[] = [];
  readonly ripened: number[] = [];
  /** What happens to a message before it is carried out, or after; it may throw. */
  before: (orders: readonly JobOrder[]) => Promise<void> = async () => await Promise.resolve();
  after: (orders: readonly JobOrder[]) => Promise<void> = async () => await Promise.resolve();
  beforeRipening: () => Promise<void> = async () => await Promise.resolve();
  afterRipening: () => Promise<void> = async () => await Promise.resolve();
  readonly book: JobBook = this.open();

  /** What was applied, as kinds of orders. */
  get kinds(): readonly (readonly string[])[] {
    return this.applied.map((orders) => orders.map(({ kind }) => kind));
  }

  private open(): JobBook {
    const book = new MemoryJobBook(this.tables, async (_fence, fn) => {
      await fn({ onCommit: (effect) => effect() });
    });
    const apply = async (fence: FenceToken, orders: readonly JobOrder[]): Promise<JobReply> => {
      this.applied.push(orders);
      await this.before(orders);
      const reply = await book.apply(fence, orders);
      await this.after(orders);
      return reply;
    };
    const ripen: JobBook["ripen"] = async (fence, limit) => {
      this.ripened.push(this.clock.mono());
      await this.beforeRipening();
      const ripening = await book.ripen(fence, limit);
      await this.afterRipening();
      return ripening;
    };
    return new Proxy<JobBook>(book, {
      get: (target, name) => {
        if (name === "apply") return apply;
        if (name === "ripen") return ripen;
        const value: unknown = Reflect.get(target, name);
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
  }
}

export function submission(jobId: string, rest: Partial<Submission> = {}): Submission {
  return {
    kind: "submit",
    jobId,
    op: "resize",
    payload: null,
    namespace: "default",
    priority: 1,
    capabilities: [],
    pinnedAgent: null,
    runAt: null,
    timeoutMs: 3_600_000,
    maxAttempts: 5,
    idempotencyKey: null,
    cron: null,
    tick: null,
    ...rest,
  };
}

export function wish(agent: string, rest: Partial<LeaseWish> = {}): LeaseWish {
  return { agent, namespace: "default", capabilities: [], maxTasks: 1, ...rest };
}
