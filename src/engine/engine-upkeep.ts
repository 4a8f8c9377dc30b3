import type { Clock } from "../election/clock.js";
import { pause } from "../lifecycle/pause.js";
import type { ConnectionBook } from "../store/connection-contract.js";
import type { EngineBook, IdRange } from "../store/engine-contract.js";
import type { FenceToken } from "../store/fence-token.js";
import type { ConnectionView } from "./connection-view.js";

export interface UpkeepParts {
  readonly book: EngineBook;
  readonly connectionBook: ConnectionBook;
  readonly fence: FenceToken;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly views: () => readonly ConnectionView[];
  /** Null keeps the journal for ever. */
  readonly historyMs: number | null;
  readonly partitionOpened: (ids: IdRange) => void;
  readonly trouble: (what: string, error: unknown) => void;
}

const tellMs = 1_000;
const tellAgainMs = 15_000;
const indexMs = 1_000;
const wordsAtOnce = 2_000;
const forgetMs = 3_600_000;
const longestPartitionMs = 86_400_000;

/** What a leader does beside the messages themselves. Each loop lives as long as the term, and outlives whatever goes wrong. */
export class EngineUpkeep {
  private readonly parts: UpkeepParts;
  private opening: Promise<void> | null = null;
  private told = "";
  private toldAt = Number.NEGATIVE_INFINITY;

  constructor(parts: UpkeepParts) {
    this.parts = parts;
  }

  async run(): Promise<void> {
    await Promise.all([
      this.every(tellMs, "tell how the connections are doing", async () => await this.tell()),
      this.every(indexMs, "make messages findable by their words", async () => await this.index()),
      this.every(forgetMs, "forget old messages", async () => await this.forget()),
    ]);
  }

  /** The numbers come to an end. Asked for as often as anybody likes. */
  openPartition(): void {
    const { book, fence, partitionOpened, trouble } = this.parts;
    this.opening ??= book
      .openPartition(fence)
      .then(partitionOpened)
      .catch((error: unknown) => trouble("the journal's next partition could not be opened", error))
      .finally(() => {
        this.opening = null;
      });
  }

  private async every(ms: number, what: string, work: () => Promise<void>): Promise<void> {
    const { clock, signal, trouble } = this.parts;
    while (!signal.aborted) {
      try {
        await work();
      } catch (error) {
        if (!signal.aborted) trouble(`could not ${what}`, error);
      }
      await pause(clock, ms, signal);
    }
  }

  /** What has changed, and now and then what has not: a reader sees that somebody still looks after it. */
  private async tell(): Promise<void> {
    const { connectionBook, fence, clock, views } = this.parts;
    const reports = views().map(({ name, ...state }) => ({ name, state }));
    const text = JSON.stringify(reports);
    if (text === this.told && clock.mono() - this.toldAt < tellAgainMs) return;
    await connectionBook.tell(fence, reports);
    this.told = text;
    this.toldAt = clock.mono();
  }

  private async index(): Promise<void> {
    const { book, fence, signal } = this.parts;
    while (!signal.aborted && (await book.indexWords(fence, wordsAtOnce)) === wordsAtOnce);
  }

  private async forget(): Promise<void> {
    const { book, fence, historyMs } = this.parts;
    if (historyMs === null) return;
    // What is taken in for long goes into a partition of its own, or little traffic would never be forgotten.
    if ((await book.partitionAgeMs()) > longestPartitionMs) this.openPartition();
    await book.dropPartitions(fence, historyMs);
  }
}
