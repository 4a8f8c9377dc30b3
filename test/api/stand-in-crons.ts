import { systemClock } from "../../src/election/clock.js";
import { Crons } from "../../src/jobs/crons.js";
import type { JobSettings } from "../../src/jobs/job-settings.js";
import type { CronBook } from "../../src/store/cron-contract.js";
import { MemoryCronBook } from "../../src/store/memory/cron-book.js";
import type { MemoryCronTables } from "../../src/store/memory/cron-tables.js";
import type { MemoryJobTables } from "../../src/store/memory/job-tables.js";
import { jobFence } from "../support/job-scene.js";

/** The crons of a node that leads under epoch 7. It fires none: what stands in the tables is the test's. */
export function standInCrons(
  tables: MemoryCronTables,
  jobTables: MemoryJobTables,
  node: {
    readonly jobs: { readonly settings: JobSettings };
    readonly stopping: AbortController;
    readonly troubled: (book: CronBook) => CronBook;
  },
): Crons {
  const book = new MemoryCronBook(tables, jobTables, async (_fence, fn) => {
    await fn({ onCommit: (effect) => effect() });
  });
  return new Crons({
    book: node.troubled(book),
    settings: node.jobs.settings,
    clock: systemClock,
    counts: { known: () => undefined, fired: () => undefined, missed: () => undefined },
    trouble: () => undefined,
    submitted: () => undefined,
    stated: [],
    role: () => ({
      name: "scheduler",
      gate: { requireLeader: () => ({ epoch: 7n, holder: "node-a" }) },
      // What the test makes of the database is no concern of the term.
      lead: (fn) => void fn({ fence: jobFence, signal: node.stopping.signal }).catch(() => undefined),
    }),
  }).open();
}
