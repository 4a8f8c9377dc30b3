import type { CronRow, CronTick } from "../cron-contract.js";

/** The crons of one database in memory. */
export class MemoryCronTables {
  readonly crons = new Map<string, CronRow>();
  readonly ticks: (CronTick & { readonly cron: string })[] = [];
  decided = 0;
}
