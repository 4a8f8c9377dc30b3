import type { Client } from "pg";
import { type ServerEvent, ServerEvents } from "../../support/server-events.js";
import { monotonicMs } from "../clock.js";
import type { StreamEvent } from "../history.js";
import type { NodeTask } from "../node-order.js";
import type { Scene, Workload } from "../workload.js";
import { rest, untilAborted } from "./pace.js";
import { atDatabase, untilNoneLeft } from "./until-settled.js";

const restMs = 100;
const openWithinMs = 5_000;
/** A node says something at least every 15 s: a connection that is silent for longer has died without a word. */
const longestSilenceMs = 20_000;

interface Stream {
  readonly name: "jobs" | "cluster";
  readonly path: string;
  /** Where a reader begins that has heard nothing yet: null where it is told so by the stream itself. */
  readonly first: string | null;
  /** The ids of all that the store holds, in order. */
  readonly stored: (client: Client) => Promise<readonly number[]>;
}

const streams: readonly Stream[] = [
  {
    name: "jobs",
    path: "/v1/events",
    first: null,
    stored: async (client) => {
      const { rows } = await client.query<{ id: string }>(
        "SELECT generate_series(id - number + 1, id) AS id FROM holdfast.events ORDER BY 1",
      );
      return rows.map(({ id }) => Number(id));
    },
  },
  {
    name: "cluster",
    path: "/cluster/events",
    first: "0",
    stored: async (client) => {
      const { rows } = await client.query<{ id: string }>("SELECT id FROM holdfast.history ORDER BY id");
      return rows.map(({ id }) => Number(id));
    },
  },
];

/** Readers of both streams of events, which come back after their last id to whichever node answers next. */
export class EventReaders implements Workload {
  readonly name = "streams";
  private readonly readers: readonly Reader[];
  private readonly over = new AbortController();
  private reading: Promise<unknown> = Promise.resolve();

  /** Of each stream so many. */
  constructor({ readers = 2 }: { readonly readers?: number } = {}) {
    this.readers = streams.flatMap((stream) =>
      Array.from({ length: readers }, (_, index) => new Reader(stream, `${stream.name}-reader-${index + 1}`)),
    );
  }

  async prepare(): Promise<Partial<NodeTask>> {
    return await Promise.resolve({});
  }

  /** They go on after the load has ended, until they have seen all of it. */
  async run(scene: Scene): Promise<void> {
    const { signal } = this.over;
    this.reading = Promise.all(this.readers.map((reader, index) => reader.read(scene, index, signal)));
    this.reading.catch(() => undefined);
    await untilAborted(scene.signal);
  }

  /** There is always something new, so the end is what the store holds at this moment: nobody tells of what comes later. */
  async settle({ directUrl, log }: Scene): Promise<void> {
    for (const { name, stored } of streams) {
      const own = this.readers.filter(({ stream }) => stream.name === name);
      for (const reader of own) reader.hold();
      const ids = await atDatabase(directUrl, stored);
      const last = ids.at(-1) ?? 0;
      await untilNoneLeft(`events of "${name}"`, async () =>
        Promise.resolve(own.reduce((left, reader) => left + Math.max(0, last - reader.last), 0)),
      );
      for (const reader of own) reader.tellHeld(last, log);
      const generation = own[0]?.generation ?? "";
      for (const id of ids) {
        log({
          by: "store",
          at: monotonicMs(),
          kind: "stream",
          stream: name,
          reader: "store",
          id: `${generation}${id}`,
        });
      }
    }
    await this.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  private async stop(): Promise<void> {
    this.over.abort();
    await this.reading;
  }
}

class Reader {
  readonly stream: Stream;
  /** The number of the last that it has seen, or was told that it stands at. */
  last = 0;
  /** What its ids begin with. */
  generation = "";
  private readonly name: string;
  private cursor: string | null;
  private held: { readonly number: number; readonly event: StreamEvent }[] | null = null;

  constructor(stream: Stream, name: string) {
    this.stream = stream;
    this.name = name;
    this.cursor = stream.first;
  }

  /** What it hears from now on is not told yet. */
  hold(): void {
    this.held = [];
  }

  tellHeld(last: number, log: Scene["log"]): void {
    for (const { number, event } of this.held ?? []) if (number <= last) log(event);
  }

  async read(scene: Scene, first: number, signal: AbortSignal): Promise<void> {
    for (let turn = first; !signal.aborted; turn += 1) {
      const { url } = scene.places[turn % scene.places.length] ?? { url: "" };
      const { token } = scene;
      const { path } = this.stream;
      const asked = { token, path, openWithinMs, ...(this.cursor === null ? {} : { lastEventId: this.cursor }) };
      const connection = await ServerEvents.open(url, asked).catch(() => null);
      if (connection === null) await rest(restMs, signal);
      else await this.follow(connection, scene, signal);
    }
  }

  private async follow(connection: ServerEvents, scene: Scene, signal: AbortSignal): Promise<void> {
    const hangUp = (): void => void connection[Symbol.asyncDispose]();
    signal.addEventListener("abort", hangUp, { once: true });
    let alive = connection.comments;
    let heard = monotonicMs();
    const watch = setInterval(() => {
      if (connection.comments !== alive) heard = monotonicMs();
      alive = connection.comments;
      if (monotonicMs() - heard > longestSilenceMs) hangUp();
    }, restMs);
    try {
      for (let event = await connection.next(); event !== null; event = await connection.next()) {
        heard = monotonicMs();
        this.hear(event, scene);
      }
    } finally {
      clearInterval(watch);
      signal.removeEventListener("abort", hangUp);
      hangUp();
    }
  }

  /** What has no id says how things are now, and may be missed; a greeting without one is where the reader stood. */
  private hear({ event, id: told }: ServerEvent, { log }: Scene): void {
    const id = told === "" && event === "hello" ? (this.cursor ?? "0") : told;
    if (id === "") return;
    const number = /\d+$/.exec(id)?.[0] ?? "";
    // Lines of the cluster's history come as they are seen, at times a later one first.
    if (this.stream.name === "jobs" || Number(number) > this.last) this.cursor = id;
    this.last = event === "reset" ? Number(number) : Math.max(this.last, Number(number));
    this.generation = id.slice(0, id.length - number.length);
    const what = event === "hello" || event === "reset" ? ({ what: event } as const) : {};
    const { name: reader } = this;
    const heard: StreamEvent = {
      by: reader,
      at: monotonicMs(),
      kind: "stream",
      stream: this.stream.name,
      reader,
      id,
      ...what,
    };
    if (this.held === null) log(heard);
    else this.held.push({ number: Number(number), event: heard });
  }
}
