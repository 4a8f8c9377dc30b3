import type { FenceToken } from "../store/fence-token.js";
import type { LaneName } from "../store/queue-contract.js";
import type { HeadRules } from "./core/head-outcome.js";
import type { Journaled } from "./handler-call.js";
import type { Message } from "./message.js";

/** How a room of this house runs its queue, beyond what applications can set. */
export interface QueueConduct {
  /**
   * Each time that what was in flight has gone back: before a term takes anything in or hands anything out, and when it has lost
   * track of what it had finished. Answers whether it has changed lanes: they are then read again.
   */
  readonly prepare?: ((fence: FenceToken, signal: AbortSignal) => Promise<boolean>) | undefined;
  /** Whether messages of this lane are handed out now. Asked again after `reconsider`. */
  readonly admits?: ((lane: LaneName) => boolean) | undefined;
  /** What a failure means in this lane; null where the queue's own settings say it. */
  readonly rulesOf?: ((lane: LaneName) => HeadRules | null) | undefined;
  /** Stages in which a message is committed as finished before the next of its lane begins: a crash repeats one of them at most. */
  readonly settleEach?: ReadonlySet<string> | undefined;
  /**
   * Handlers that need nothing but their message, by stage. What is produced for a lane of such a stage that holds nothing is handled at
   * once, and what comes of it is committed in its place; its position is 0. Where the handler throws, or the lane holds
   * something, it goes to the lane. So does all that comes of a message that an earlier leader may have gone down with.
   */
  readonly express?: ReadonlyMap<string, (message: Message) => Journaled> | undefined;
  /** Whether an earlier leader may have gone down with this message, though it is no head. */
  readonly isDoubtful?: ((message: Message) => boolean) | undefined;
  /**
   * What was just taken in is handed out from memory, without being read again. When that was is then by this machine's clock, and
   * not by the database's.
   */
  readonly remembers?: boolean | undefined;
  /** How long what was begun there may go on after the end of a term: what ends in time is not repeated by the next leader. */
  readonly lingerMs?: number | undefined;
  /**
   * Whether what the end of a term interrupted in this lane may have had its effect. It is then left as a crash leaves it, and
   * the next leader is told (`interrupted`). Where there is no doubt, it goes back and counts as nothing.
   */
  readonly isInDoubt?: ((lane: LaneName) => boolean) | undefined;
  /** The head of this lane has failed for good, and makes way: for what is counted, before the database knows it. */
  readonly buried?: ((lane: LaneName) => void) | undefined;
}
