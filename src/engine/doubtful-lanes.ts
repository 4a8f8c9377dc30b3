import type { LaneName, LaneRow } from "../store/queue-contract.js";

/** As many of a lane may have been in flight: what its queue claims at a time. */
const claimed = 500;

/**
 * The messages that an earlier leader may have gone down with: one of them may hold up for ever whoever routes or handles it, and
 * the process of each leader in turn.
 */
export class DoubtfulLanes {
  private until: ReadonlyMap<string, number> = new Map();

  /** As a new leader finds them. */
  read(lanes: readonly Pick<LaneRow, "stage" | "lane" | "done" | "reclaims">[]): void {
    const doubtful = lanes.filter(({ reclaims }) => reclaims > 0);
    this.until = new Map(doubtful.map((lane) => [nameOf(lane), lane.done + claimed]));
  }

  has(message: LaneName & { readonly position: number }): boolean {
    return this.until.size > 0 && message.position <= (this.until.get(nameOf(message)) ?? 0);
  }
}

function nameOf({ stage, lane }: LaneName): string {
  return `${stage} ${lane}`;
}
