import type { FenceToken } from "./fence-token.js";

/**
 * What the leader of `log_compactor` forgets beside jobs, events and ticks, which their own books forget for it. Each call is one
 * fenced transaction (R8), does a bounded part, oldest first, and answers with how much of it is gone.
 */
export interface CompactionBook {
  /** Lines of the history of elections. A role's last line stays: it tells which epochs were given. */
  forgetHistory(fence: FenceToken, days: number, limit: number): Promise<number>;
  /** Lines of the audit; those of the last 30 days stay, whatever is asked. */
  forgetAudit(fence: FenceToken, days: number, limit: number): Promise<number>;
  /**
   * What no job asks for any more, where there is more than `allowed` to look through. Finding out reads every job, without a
   * lock and a stretch at a time.
   */
  forgetDemands(fence: FenceToken, allowed: number, limit: number): Promise<number>;
}
