import type { LaneRow } from "../store/queue-contract.js";
import type { Lane } from "./core/lane.js";
import type { LaneTable } from "./lane-table.js";
import type { QueueTermParts } from "./term-parts.js";

/**
 * Brings to this term what operators did to lanes, in whatever process: each left a mark on the lane's row.
 *
 * A row was read a moment ago, and the lane in memory may have moved on since. Whether it is paused is the operators' alone,
 * and holds at once. The rest is taken over only from a lane that stood still all the while; another one is read again later.
 */
export class Steering {
  private readonly parts: QueueTermParts;
  private readonly table: LaneTable;
  private readonly onSteered: () => void;
  /** Lanes whose mark was or may have been taken away, and of which not all is known here yet. */
  private readonly unsure = new Set<number>();
  private last: Promise<unknown> = Promise.resolve();

  constructor(parts: QueueTermParts, table: LaneTable, onSteered: () => void) {
    this.parts = parts;
    this.table = table;
    this.onSteered = onSteered;
  }

  /** Whoever reads rows into the table does so alone: a later reading is never overwritten by an earlier one. */
  alone<Result>(read: () => Promise<Result>): Promise<Result> {
    const reading = this.last.then(read);
    this.last = reading.catch(() => undefined);
    return reading;
  }

  /** Looks for marks. Resolves when what was steered before the call holds here. */
  look(): Promise<void> {
    return this.alone(async () => {
      const { book, fence, settings } = this.parts;
      const lanes = [...new Set([...(await book.steered(settings.name)), ...this.unsure])];
      if (lanes.length === 0) return;
      // Noted before the marks are taken away: the answer may get lost.
      for (const id of lanes) this.unsure.add(id);
      const before = new Map(lanes.map((id) => [id, stillness(this.table.get(id))]));
      for (const row of await book.takeSteered(fence, lanes)) this.adopt(row, before.get(row.id) ?? null);
      this.onSteered();
    });
  }

  private adopt(row: LaneRow, before: string | null): void {
    const lane = this.table.get(row.id);
    if (before !== null && stillness(lane) === before) {
      this.table.load(row);
      this.unsure.delete(row.id);
    } else if (lane !== undefined) {
      lane.paused = row.paused;
      this.table.touch(lane);
    }
  }
}

/** The same before and after where nothing of the lane was worked on in between. Null while something is. */
function stillness(lane: Lane | undefined): string | null {
  if (lane === undefined) return "not known here";
  return lane.inFlight ? null : `${lane.done} done, ${lane.attempts} failed`;
}
