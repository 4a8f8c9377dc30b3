import type { Clock } from "../election/clock.js";
import type { LeaseView } from "../election/core/lease.js";
import type { StoreNews } from "../store/contract.js";
import type { MemberCounts } from "./node-row.js";

type BeatNews = Extract<StoreNews, { kind: "beat" }>;

const nobody: MemberCounts = { joining: 0, active: 0, draining: 0, dead: 0, left: 0 };

/** What the last answered beat told of the cluster, kept for those who ask while the database is away. */
export class ClusterNews {
  private readonly clock: Clock;
  private last: { readonly news: BeatNews; readonly at: number } | null = null;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  hear(news: BeatNews): void {
    this.last = { news, at: this.clock.mono() };
  }

  get members(): MemberCounts {
    return this.last?.news.members ?? nobody;
  }

  get configVersion(): number {
    return this.last?.news.configVersion ?? 0;
  }

  /** Since the last answered beat. */
  get ageMs(): number {
    return this.last === null ? Number.POSITIVE_INFINITY : this.clock.mono() - this.last.at;
  }

  /** A role's lease while it runs, as the last beat showed it; undefined for a role that nobody has ever named. */
  lease(role: string): LeaseView | null | undefined {
    const lease = this.last?.news.leases.find((one) => one.role === role);
    if (lease === undefined || lease.holder === null) return lease === undefined ? undefined : null;
    return lease.remainingMs > this.ageMs ? lease : null;
  }
}
