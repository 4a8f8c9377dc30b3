import type { LaneName, LaneRow } from "../store/queue-contract.js";
import { connectionOf, stages } from "./core/lane-names.js";

/** As many of a lane may have been in flight: what its queue claims at a time. */
const claimed = 500;

/**
 * The messages that an earlier leader may have gone down with: one of them may hold up for ever whoever routes or handles it, and
 * the process of each leader in turn.
 */
export class DoubtfulLanes {
  private until: ReadonlyMap<string, number> = new Map();
  private inbounds: ReadonlySet<string> = new Set();

  /** As a new leader finds them. */
  read(lanes: readonly Pick<LaneRow, "stage" | "lane" | "done" | "tail" | "reclaims">[]): void {
    const doubtful = lanes.filter(({ reclaims }) => reclaims > 0);
    const until = new Map(doubtful.map((lane) => [nameOf(lane), lane.done + claimed]));
    // Whoever routed them may have handled them too, in one go: so what handlers are given of them is as doubtful as they are.
    this.inbounds = new Set(doubtful.filter(({ stage }) => stage === stages.ingress).map(({ lane }) => lane));
    for (const lane of lanes) if (this.isGiven(lane)) until.set(nameOf(lane), lane.tail + claimed);
    this.until = until;
  }

  /** What is handled in one go with its routing has no position, and is only where its routing was in no doubt. */
  has(message: LaneName & { readonly position: number }): boolean {
    if (this.until.size === 0 || message.position === 0) return false;
    return message.position <= (this.until.get(nameOf(message)) ?? (this.isGiven(message) ? claimed : 0));
  }

  private isGiven({ stage, lane }: LaneName): boolean {
    return stage === stages.routed && this.inbounds.has(connectionOf(lane));
  }
}

function nameOf({ stage, lane }: LaneName): string {
  return `${stage} ${lane}`;
}
