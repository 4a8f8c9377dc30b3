import type { CompactionBook } from "../compaction-contract.js";
import type { FenceToken } from "../contract.js";
import type { Questions } from "./questions.js";
import type { FencedMessage } from "./queue-traffic.js";
import { toHoldfastError } from "./sql-errors.js";

/** How many jobs are read at a time to find out what they ask for. */
const stretch = 20_000;

/** What is forgotten beside jobs, events and ticks, on PostgreSQL. */
export function compactionBook(questions: Questions, send: FencedMessage): CompactionBook {
  const { schema } = questions;
  /** What is forgotten twice does no harm, so nobody waits for the disk. */
  const forget = async (fence: FenceToken, call: string): Promise<number> => {
    try {
      const statements = ["set local synchronous_commit = off", `select ${schema}.${call} as gone`];
      const { results } = await send(fence, { statements });
      return (
        results.flatMap(({ rows }) => rows as { gone?: number }[]).find(({ gone }) => gone !== undefined)?.gone ?? 0
      );
    } catch (error) {
      throw toHoldfastError(error, "compacting");
    }
  };
  return {
    forgetHistory: (fence, days, limit) => forget(fence, `forget_history(${days}, ${limit})`),
    forgetAudit: (fence, days, limit) => forget(fence, `forget_audit(${days}, ${limit})`),
    async forgetDemands(fence, allowed, limit) {
      const [there] = await questions.rows<{ demands: number; submitted: string }>(
        "counting what jobs ask for",
        `select (select count(*)::integer from ${schema}.job_demands) as demands, submitted::text from ${schema}.job_totals`,
      );
      if (there === undefined || there.demands <= allowed) return 0;
      const used = await demandsInUse(questions);
      return await forget(fence, `forget_demands('{${[...used].join()}}', ${there.submitted}, ${limit})`);
    },
  };
}

async function demandsInUse(questions: Questions): Promise<ReadonlySet<number>> {
  const used = new Set<number>();
  for (let after: string | null = "0"; after !== null; ) {
    const [found]: { demands: number[] | null; last: string | null }[] = await questions.rows(
      "reading what jobs ask for",
      `select array_agg(distinct demand) as demands, case when count(*) = ${stretch} then max(n)::text end as last
       from (select n, demand from ${questions.schema}.jobs where n > $1 order by n limit ${stretch}) j`,
      [after],
    );
    for (const demand of found?.demands ?? []) used.add(demand);
    after = found?.last ?? null;
  }
  return used;
}
