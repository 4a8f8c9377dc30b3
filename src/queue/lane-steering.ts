import { HoldfastError } from "../errors.js";
import type { LaneName, LaneRow, QueueBook } from "../store/queue-contract.js";

/** What operators do to a lane, on whatever node: the lane as it is afterwards, or why not. */

export async function setPaused(book: QueueBook, queue: string, lane: LaneName, paused: boolean): Promise<LaneRow> {
  checkLane(lane);
  const row = await book.setPaused(queue, lane, paused);
  if (row === null) throw noLane(queue, lane);
  return row;
}

export async function skipHead(book: QueueBook, queue: string, lane: LaneName): Promise<LaneRow> {
  checkLane(lane);
  const outcome = await book.skip(queue, lane);
  if (outcome.kind === "no_lane") throw noLane(queue, lane);
  if (outcome.kind === "skipped") return outcome.lane;
  throw new HoldfastError(
    "REFUSED",
    `Lane "${lane.lane}" in stage "${lane.stage}" of queue "${queue}" is not blocked, so there is no head to skip.`,
  );
}

function checkLane(lane: LaneName): void {
  if (typeof lane?.stage === "string" && typeof lane.lane === "string") return;
  throw new HoldfastError("INVALID_REQUEST", "A lane is named by its stage and its name: { stage, lane }.");
}

function noLane(queue: string, { stage, lane }: LaneName): HoldfastError {
  return new HoldfastError("NOT_FOUND", `There is no lane "${lane}" in stage "${stage}" of queue "${queue}".`);
}
