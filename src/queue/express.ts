import type { SettledJournal } from "../store/journal.js";
import type { LaneName } from "../store/queue-contract.js";
import { hasNothing, type Lane } from "./core/lane.js";
import type { Journaled } from "./handler-call.js";
import type { LaneTable } from "./lane-table.js";
import type { Message, Produced } from "./message.js";
import { readProduced } from "./produced.js";
import type { Settlings } from "./settlings.js";
import type { QueueTermParts } from "./term-parts.js";

/** What came of a message. */
export interface Yield {
  readonly produced: readonly Produced[];
  readonly journal: SettledJournal | null;
}

const none: Readonly<Record<string, string>> = Object.freeze({});

/**
 * Takes what was produced for a stage through that stage at once, so that it need not be written, claimed and read in between: only
 * where nothing is in its lane, or on its way there, that it would overtake (G5). All of it is one commit with the message that it
 * comes from. Nothing here waits, so that handlers are run in the order in which what they keep is committed.
 */
export class Express {
  private readonly parts: QueueTermParts;
  private readonly table: LaneTable;
  private readonly settlings: Settlings;
  /** What each lane has left in lanes of such stages, until that is through. */
  private readonly behind = new Map<Lane, Set<LaneName>>();

  constructor(parts: QueueTermParts, table: LaneTable, settlings: Settlings) {
    this.parts = parts;
    this.table = table;
    this.settlings = settlings;
  }

  /** One that a leader went down with goes stage by stage: should it fell the next one too, it is known in which. */
  taken(source: Lane, message: Message, yielded: Yield): Yield {
    const { express, isDoubtful } = this.parts.conduct;
    if (express === undefined || message.interrupted || isDoubtful?.(message) === true) return yielded;
    if (!yielded.produced.some(({ stage }) => express.has(stage))) return yielded;
    const produced: Produced[] = [];
    const journals = yielded.journal === null ? [] : [yielded.journal];
    const left = new Set<string>();
    for (const one of yielded.produced) {
      const handler = express.get(one.stage);
      const made = handler === undefined || left.has(one.lane) ? null : this.handled(handler, message, one);
      if (made !== null) {
        produced.push(...made.produced);
        if (made.journal !== null) journals.push(made.journal);
      } else {
        produced.push(one);
        if (handler !== undefined) {
          left.add(one.lane);
          this.leave(source, one);
        }
      }
    }
    return { produced, journal: joined(journals) };
  }

  /**
   * What went to a lane is waited for while it moves: went the next ones behind it, the lane would never be empty again under a load,
   * and all of them would go the long way. Where it cannot move, for as long as that takes, they do.
   */
  isHeldUp(source: Lane): boolean {
    const lanes = this.behind.get(source);
    if (lanes === undefined) return false;
    let isMoving = false;
    for (const name of lanes) {
      const lane = this.table.find(name.stage, name.lane);
      if (this.settlings.isComing(name)) isMoving = true;
      else if (lane === undefined || (hasNothing(lane) && !lane.appending)) lanes.delete(name);
      else isMoving ||= this.moves(lane);
    }
    if (lanes.size === 0) this.behind.delete(source);
    return isMoving;
  }

  private moves(lane: Lane): boolean {
    const { handlers, conduct, clock } = this.parts;
    if (lane.paused || lane.blocked || lane.held || !handlers.has(lane.stage)) return false;
    if (conduct.admits?.({ stage: lane.stage, lane: lane.name }) === false) return false;
    return lane.inFlight || lane.appending || lane.readyAt <= clock.mono();
  }

  private leave(source: Lane, { stage, lane }: LaneName): void {
    const lanes = this.behind.get(source) ?? new Set<LaneName>();
    if (![...lanes].some((one) => one.stage === stage && one.lane === lane)) lanes.add({ stage, lane });
    this.behind.set(source, lanes);
  }

  /** Null where it goes to its lane. What fails does, and fails there again: with attempts, a reason, and what comes after it behind it. */
  private handled(handler: (message: Message) => Journaled, from: Message, one: Produced): Yield | null {
    const lane = this.table.find(one.stage, one.lane);
    if (lane === undefined || !hasNothing(lane) || lane.appending || one.delayMs !== undefined) return null;
    if (this.settlings.isComing(one)) return null;
    const { body, headers = none } = one;
    const message: Message = {
      ...from,
      stage: one.stage,
      lane: one.lane,
      position: 0, // It has none: it never lies there.
      key: one.key ?? null,
      headers,
      body: Buffer.isBuffer(body) ? body : Buffer.from(body as string),
      attempt: 1,
    };
    try {
      const { produced, journal } = handler(message);
      const read = readProduced(produced, this.parts.settings);
      return read.kind === "garbage" ? null : { produced: read.produced, journal };
    } catch {
      return null;
    }
  }
}

function joined(journals: readonly SettledJournal[]): SettledJournal | null {
  const [first, ...others] = journals;
  if (first === undefined || others.length === 0) return first ?? null;
  return { steps: journals.flatMap(({ steps }) => steps), state: journals.flatMap(({ state }) => state) };
}
