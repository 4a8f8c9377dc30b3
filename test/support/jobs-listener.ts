import { setTimeout as pause } from "node:timers/promises";
import { within } from "../../src/lifecycle/within.js";
import type { EventStream, JobEvent } from "./jobs-history.js";
import { type ServerEvent, ServerEvents } from "./server-events.js";

const restMs = 20;

/**
 * Listens to the events of a cluster whose nodes die, as a program does that must miss nothing: each new connection, to whichever
 * node answers next, goes on after the last event it has seen.
 */
export class JobsListener implements AsyncDisposable {
  readonly name: string;
  /** How often a connection broke under it. */
  broken = 0;
  readonly events: JobEvent[] = [];
  readonly succeeded = new Set<string>();
  /** By job: the highest job_epoch under which it was handed out. */
  readonly leased = new Map<string, number>();
  private readonly urls: readonly string[];
  private readonly patienceMs: number;
  private readonly watchers = new Set<() => void>();
  private readonly over = new AbortController();
  private from: number | null = null;
  private cursor: string | null = null;
  private connection: ServerEvents | null = null;
  private listening: Promise<void> | null = null;

  private constructor(name: string, urls: readonly string[], patienceMs: number) {
    this.name = name;
    this.urls = urls;
    this.patienceMs = patienceMs;
  }

  /** Resolves when it was told where the stream stands. */
  static async start(name: string, urls: readonly string[], patienceMs: number): Promise<JobsListener> {
    const listener = new JobsListener(name, urls, patienceMs);
    listener.listening = listener.listen();
    await listener.until("a node said hello", () => listener.from !== null);
    return listener;
  }

  get last(): number {
    return this.events.at(-1)?.id ?? this.from ?? 0;
  }

  /** Looks again at each event. */
  async until(what: string, condition: () => boolean): Promise<void> {
    const came = new Promise<void>((resolve) => {
      const look = (): void => {
        if (!condition()) return;
        this.watchers.delete(look);
        resolve();
      };
      this.watchers.add(look);
      look();
    });
    // A test that waits for ever ends nothing that it started.
    await within(this.patienceMs, came, () => {
      const seen = `${this.events.length} events, ${this.succeeded.size} jobs succeeded`;
      throw new Error(`The ${this.name} waited in vain until ${what}: ${seen}, the last is ${this.last}.`);
    });
  }

  streamTo(to: number): EventStream {
    const events = this.events.filter(({ id }) => id <= to);
    return { listener: this.name, from: this.from ?? 0, to, events };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.over.abort();
    await this.connection?.[Symbol.asyncDispose]();
    await this.listening;
  }

  private async listen(): Promise<void> {
    for (let turn = 0; !this.over.signal.aborted; turn += 1) {
      const url = this.urls[turn % this.urls.length] ?? "";
      try {
        this.connection = await ServerEvents.open(url, this.cursor === null ? {} : { lastEventId: this.cursor });
      } catch {
        // That node is dead, or is just starting.
        await pause(restMs);
        continue;
      }
      for (let event = await this.connection.next(); event !== null; event = await this.connection.next()) {
        this.hear(event);
      }
      await this.connection[Symbol.asyncDispose]();
      this.broken += 1;
    }
  }

  private hear({ event: kind, id: cursor, data }: ServerEvent): void {
    // A greeting before a reset: where it stands it is told by that.
    if (cursor === "") return;
    const id = Number(/\d+$/.exec(cursor)?.[0]);
    const generation = cursor.slice(0, -String(id).length - 1);
    this.from ??= id;
    this.cursor = cursor;
    if (kind !== "hello") {
      const { job_id: jobId = null, job_epoch: jobEpoch = 0, agent = null, leader_epoch: leaderEpoch = 0 } = data;
      const heard = { id, generation, kind, jobId, jobEpoch, agent, leaderEpoch } as JobEvent;
      this.events.push(heard);
      if (heard.jobId !== null && kind === "job.succeeded") this.succeeded.add(heard.jobId);
      if (heard.jobId !== null && kind === "job.leased") this.leased.set(heard.jobId, heard.jobEpoch);
    }
    for (const look of this.watchers) look();
  }
}
