import { EventEmitter, once } from "node:events";
import type { Clock } from "../election/clock.js";
import type { Gate } from "../election/gate.js";
import type { LeaderTerm } from "../election/term.js";
import { errorText, HoldfastError, NotLeaderError } from "../errors.js";
import type { Page } from "../store/contract.js";
import type {
  DeadLetter,
  DeadLetterWithBody,
  LaneName,
  LaneRow,
  MessageHead,
  QueueBook,
} from "../store/queue-contract.js";
import type { QueueCounts } from "../telemetry/queue-metrics.js";
import { incomingOf, type Recorder } from "./appender.js";
import type { QueueConduct } from "./conduct.js";
import type { IsolatedHandler, JournalingHandler, RunnableHandler } from "./handler-call.js";
import type { Accepted, Intake } from "./intake.js";
import { setPaused, skipHead } from "./lane-steering.js";
import { measuredBook } from "./measured-book.js";
import { checkMessage, type NewMessage } from "./message.js";
import { type QueueOptions, type QueueSettings, queueSettingsOf } from "./queue-settings.js";
import { QueueTerm } from "./queue-term.js";
import type { Queues } from "./queues.js";
import { mostRedriven, type Redriven, type Redriving } from "./redriving.js";

type QueueLeaderTerm = Pick<LeaderTerm<unknown>, "fence" | "signal" | "require">;

/** What a queue needs of its node. A `HoldfastNode` is one. */
export interface QueueNode {
  role(name: string): {
    readonly gate: Pick<Gate, "requireLeader">;
    lead(fn: (term: QueueLeaderTerm) => Promise<void>): void;
  };
  readonly queueBook: QueueBook;
  /** Where it keeps its queues, if it does. */
  readonly queues?: Pick<Queues, "add" | "defaults"> | undefined;
  readonly log: { warn(details: object, message: string): void };
  readonly id: string;
  readonly clock: Clock;
  /** Numbers from 0 to 1; those of the machine where it has none. */
  readonly random?: (() => number) | undefined;
}

/** A durable queue of many lanes, each strictly first in, first out. It works on the node that leads its role. */
export class Queue {
  /** Its own, in the whole cluster. */
  readonly name: string;
  /** Whose leader works on it. */
  readonly role: string;
  private readonly settings: QueueSettings;
  private readonly conduct: QueueConduct;
  private readonly node: QueueNode;
  private readonly book: QueueBook;
  private readonly counts: QueueCounts | null;
  private readonly handlers = new Map<string, RunnableHandler | JournalingHandler>();
  private current: QueueTerm | null = null;
  private claims = 0;
  private readonly openings = new EventEmitter<{ opened: [] }>().setMaxListeners(0);

  constructor(node: QueueNode, options: QueueOptions, conduct: QueueConduct = {}) {
    this.conduct = conduct;
    this.settings = queueSettingsOf(options, node.queues?.defaults);
    this.name = this.settings.name;
    this.role = this.settings.role;
    this.node = node;
    this.book = node.queueBook;
    this.counts = node.queues?.add(this) ?? null;
    node.role(this.settings.role).lead(async (term) => await this.lead(term));
  }

  /** Resolves when the message is committed. On a node that does not lead: NotLeaderError. */
  async enqueue(message: NewMessage): Promise<Accepted> {
    const [accepted] = await this.enqueueMany([message]);
    if (accepted === undefined) throw new HoldfastError("BROKEN_INVARIANT", "a message was neither taken nor refused");
    return accepted;
  }

  /** In the order given, within each lane. All are checked before any is taken in. */
  async enqueueMany(messages: readonly NewMessage[]): Promise<readonly Accepted[]> {
    const { stages, maxBodyBytes } = this.settings;
    const given: unknown = messages;
    if (!Array.isArray(given)) throw new HoldfastError("INVALID_REQUEST", "Give an array of messages.");
    for (const message of messages) checkMessage(message, stages, maxBodyBytes);
    const { intake } = this.leading();
    const [first = ""] = stages;
    return await intake.add(messages.map((message) => incomingOf(message, first)));
  }

  /** The same for the message engine, whose journal gets a line with the same commit. @internal */
  async enqueueRecorded(message: NewMessage, record: Recorder): Promise<Accepted> {
    const { stages, maxBodyBytes } = this.settings;
    checkMessage(message, stages, maxBodyBytes);
    const { intake } = this.leading();
    const [accepted] = await intake.add([incomingOf(message, stages[0] ?? "", record)]);
    if (accepted === undefined) throw new HoldfastError("BROKEN_INVARIANT", "a message was neither taken nor refused");
    return accepted;
  }

  /** What this node may do as the leader; else NotLeaderError. */
  private leading(): { readonly intake: Intake; readonly redriving: Redriving } {
    const intake = this.current?.open ?? null;
    const redriving = this.current?.redrives ?? null;
    this.node.role(this.settings.role).gate.requireLeader();
    if (intake === null || redriving === null) {
      const opening = `Queue "${this.name}" is being opened by its new leader: try again.`;
      throw new NotLeaderError(opening, { role: this.role });
    }
    return { intake, redriving };
  }

  /** From now on, and at every election of this node, messages of the stage go to this handler. */
  process(stage: string, handler: RunnableHandler | JournalingHandler): void {
    if (!this.settings.stages.includes(stage)) {
      throw new HoldfastError("BAD_SETTINGS", `Queue "${this.name}" has no stage "${stage}".`);
    }
    if (typeof handler !== "function" && typeof (handler as Partial<IsolatedHandler> | null)?.begin !== "function") {
      throw new HoldfastError("BAD_SETTINGS", "A handler is a function, or made by workerHandler().");
    }
    this.handlers.set(stage, handler);
    this.current?.nudge();
  }

  /** Lanes that were not admitted may be now. @internal */
  reconsider(): void {
    this.current?.nudge();
  }

  /** On any node: the leader knows within a second. What its handler has begun is finished, and what it has not goes back. */
  async pause(lane: LaneName): Promise<LaneRow> {
    return await this.heeded(await setPaused(this.book, this.name, lane, true));
  }

  /** On any node. Also tries a head again that waits, or has failed for good and holds its lane. */
  async resume(lane: LaneName): Promise<LaneRow> {
    return await this.heeded(await setPaused(this.book, this.name, lane, false));
  }

  /**
   * On any node: the head of a lane that is blocked goes to the dead letters with its last error, and the lane goes on behind
   * it. Refused where the lane is not blocked.
   */
  async skip(lane: LaneName): Promise<LaneRow> {
    const row = await skipHead(this.book, this.name, lane);
    this.counts?.dead(1);
    return await this.heeded(row);
  }

  private async heeded(row: LaneRow): Promise<LaneRow> {
    await this.heed();
    return row;
  }

  /** A lane was steered from this process: where this node leads, it need not find out by itself. @internal */
  async heed(): Promise<void> {
    await this.current?.steered();
  }

  /** Every lane; on any node. */
  async lanes(): Promise<readonly LaneRow[]> {
    return await this.book.lanes(this.name);
  }

  /** The unfinished messages of each stage, by what the lanes' rows say: nothing is counted. */
  async depth(): Promise<Readonly<Record<string, number>>> {
    const depth: Record<string, number> = Object.fromEntries(this.settings.stages.map((stage) => [stage, 0]));
    for (const { stage, tail, done } of await this.lanes()) depth[stage] = (depth[stage] ?? 0) + tail - done;
    return depth;
  }

  /** The same of the lanes that this node works on, from memory; 0 in every stage where it does not lead. */
  depthHere(): Readonly<Record<string, number>> {
    const depth = this.isOpen ? this.current?.depth() : undefined;
    return Object.fromEntries(this.settings.stages.map((stage) => [stage, depth?.get(stage) ?? 0]));
  }

  /** Whether this node leads, and has read the lanes. */
  get isOpen(): boolean {
    return (this.current?.open ?? null) !== null;
  }

  /** Resolves when this node leads the queue and takes messages in; on a standby that may be much later, or never. */
  async opened(options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    options.signal?.throwIfAborted();
    if (!this.isOpen) await once(this.openings, "opened", options);
  }

  /** The next messages of a lane, without their bodies; on any node. */
  async peek(lane: LaneName, limit = 10): Promise<readonly MessageHead[]> {
    if (!isCount(limit)) throw new HoldfastError("INVALID_REQUEST", `limit must be from 1 to ${mostShown}.`);
    const row = (await this.lanes()).find((one) => one.stage === lane.stage && one.lane === lane.lane);
    return row === undefined ? [] : await this.book.peek(row.id, limit);
  }

  /** The newest first; on any node. */
  async deadLetters(page: Page = { limit: 100 }): Promise<readonly DeadLetter[]> {
    const { limit, before } = page;
    if (!isCount(limit) || (before !== undefined && !/^\d{1,18}$/.test(String(before)))) {
      throw new HoldfastError(
        "INVALID_REQUEST",
        `limit must be from 1 to ${mostShown}, and before the id of a dead letter.`,
      );
    }
    return await this.book.deadLetters(this.name, page);
  }

  /** One of them with its body, or null; on any node. */
  async deadLetter(id: string): Promise<DeadLetterWithBody | null> {
    return await this.book.deadLetter(this.name, id);
  }

  /**
   * Takes dead letters in again, all or none. On a node that does not lead: NotLeaderError.
   *
   * The place rule: each goes to the *end* of its own lane, behind all that is there, and several in the order in which they
   * died. Its old place is gone: what came after it has been delivered meanwhile. The order of its lane (G5) counts from here.
   * It is a new message with the old body, headers and key, and a header that names the dead letter.
   */
  async redrive(ids: readonly string[]): Promise<readonly Redriven[]> {
    const { redriving } = this.leading();
    if (
      !Array.isArray(ids) ||
      ids.length < 1 ||
      ids.length > mostRedriven ||
      ids.some((id) => typeof id !== "string")
    ) {
      throw new HoldfastError("INVALID_REQUEST", `Name 1 to ${mostRedriven} dead letters by their ids, as texts.`);
    }
    return await redriving.redrive([...new Set(ids)]);
  }

  /** The same for those that were not redriven yet, the oldest first; by the same rule, and 1,000 at most. */
  async redriveAll(
    wish: { readonly stage?: string; readonly lane?: string; readonly limit?: number } = {},
  ): Promise<readonly Redriven[]> {
    const { redriving } = this.leading();
    const { limit = mostRedriven } = wish;
    if (!Number.isInteger(limit) || limit < 1 || limit > mostRedriven) {
      throw new HoldfastError("INVALID_REQUEST", `limit must be a whole number from 1 to ${mostRedriven}.`);
    }
    const letters = await this.book.letters(this.name, { ...wish, limit });
    return letters.length === 0 ? [] : await redriving.redrive(letters.map(({ id }) => id));
  }

  private async lead(term: QueueLeaderTerm): Promise<void> {
    // A failure ends the work like the end of the term does, and is told when nothing of it runs any more: whoever goes on
    // with the queue, be it this process in this very term, must not work beside it (G5).
    const failure = new AbortController();
    const current = new QueueTerm({
      settings: this.settings,
      book: this.counts === null ? this.book : measuredBook(this.book, this.counts, this.node.clock),
      fence: term.fence,
      signal: AbortSignal.any([term.signal, failure.signal]),
      requireLeader: () => term.require(),
      handlers: this.handlers,
      conduct: this.conduct,
      clock: this.node.clock,
      random: this.node.random ?? Math.random,
      nextClaim: () => ++this.claims,
      opened: () => this.openings.emit("opened"),
      trouble: (what, error) => {
        const reason = errorText(error);
        const epoch = Number(term.fence.epoch);
        this.node.log.warn({ queue: this.name, role: this.role, epoch, node_id: this.node.id, reason }, what);
      },
      failed: (error) => failure.abort(error),
    });
    this.current = current;
    try {
      await current.run();
    } finally {
      if (this.current === current) this.current = null;
    }
    // What may still be written under this epoch is refused under the next: so there has to be a next one.
    if (failure.signal.aborted && current.isInDoubt) throw inDoubt(this.name, failure.signal.reason);
    failure.signal.throwIfAborted();
  }
}

const mostShown = 1_000;
const isCount = (limit: number): boolean => Number.isInteger(limit) && limit >= 1 && limit <= mostShown;

function inDoubt(queue: string, cause: unknown): HoldfastError {
  const message = `It is not known what was last written to queue "${queue}": the role is given up, and the next leader knows.`;
  return new HoldfastError("UNKNOWN_OUTCOME", message, { cause });
}

/** Makes a queue on a node, once. Every node of the cluster makes the same ones; the leader of the role works on them. */
export function createQueue(node: QueueNode, options: QueueOptions): Queue {
  return new Queue(node, options);
}
