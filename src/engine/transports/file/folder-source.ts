import { errorText } from "../../../errors.js";
import { aborted } from "../../../lifecycle/aborted.js";
import { pause } from "../../../lifecycle/pause.js";
import { within } from "../../../lifecycle/within.js";
import { SourceStanding } from "../standing.js";
import type { Source, SourceParts, SourceState } from "../transport.js";
import { messagesOf } from "./file-messages.js";
import type { FolderEntry, InboundFolder, Shelf } from "./folder.js";
import type { PollingSettings } from "./folder-settings.js";
import { FolderWatch } from "./folder-watch.js";
import { digestOf } from "./hidden-name.js";

/** What is under way when it stops gets so long; nothing of it is lost where that is not enough. */
const lastLookMs = 2_000;
/** A mounted folder whose server is away may not answer at all. */
const openMs = 10_000;

/** What becomes of a file. */
interface Decided {
  /** What it was when that was decided. */
  readonly was: string;
  readonly fate: "archive" | "errors";
  /** Of what was read; null where nothing was. */
  readonly digest: string | null;
}

/**
 * Takes files in, one after the other: read, committed, moved. A file that was committed and could not be moved is known again,
 * so that it becomes no second message: by this source as long as it runs, and by its key for ever after.
 */
export class FolderSource implements Source {
  private readonly parts: SourceParts<PollingSettings>;
  private readonly folder: InboundFolder;
  private readonly standing: SourceStanding;
  /** Files whose fate is decided and that are still there. */
  private readonly decided = new Map<string, Decided>();
  private stopping = new AbortController();
  private opening: Promise<void> | null = null;
  private polling: Promise<void> = Promise.resolve();
  /** What is wrong for now, told once each time it begins. */
  private troubles = new Map<string, string>();

  constructor(parts: SourceParts<PollingSettings>, folder: InboundFolder) {
    this.parts = parts;
    this.folder = folder;
    this.standing = new SourceStanding(parts);
  }

  get state(): SourceState {
    return this.standing.state;
  }

  async start(): Promise<void> {
    this.standing.become("starting");
    this.stopping = new AbortController();
    const { signal } = this.stopping;
    try {
      await within(openMs, Promise.race([this.open(), aborted(signal)]), () => {
        throw new Error(`${this.folder.place} did not answer within ${openMs / 1_000} s`);
      });
    } catch (error) {
      if (!signal.aborted) this.standing.become("failed", errorText(error));
      throw error;
    }
    if (signal.aborted) return;
    this.standing.become("polling");
    this.polling = this.poll(new FolderWatch(this.parts.settings), signal);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    this.standing.become("stopped");
    this.opening = null;
    await within(lastLookMs, this.polling);
    await within(lastLookMs, this.folder.close());
  }

  /** One at a time: each that hangs holds one of the few threads for files. */
  private async open(): Promise<void> {
    this.opening ??= this.folder.open();
    const { opening } = this;
    try {
      await opening;
    } finally {
      if (this.opening === opening) this.opening = null;
    }
  }

  private async poll(watch: FolderWatch, signal: AbortSignal): Promise<void> {
    const { clock, settings } = this.parts;
    while (!signal.aborted) {
      const troubles = new Map<string, string>();
      try {
        await this.round(watch, signal, troubles);
      } catch (error) {
        troubles.set("", errorText(error));
      }
      if (!signal.aborted) this.tell(troubles);
      await pause(clock, settings.everyMs, signal);
    }
  }

  /** One look at the folder, and all that is whole in it. Ends early where the store is away: the order stays. */
  private async round(watch: FolderWatch, signal: AbortSignal, troubles: Map<string, string>): Promise<void> {
    const entries = await this.folder.list();
    const { whole, orphans, strange } = watch.look(entries);
    for (const { name, what } of strange) this.parts.log.warn({ file: name }, `a file is not taken: ${what}`);
    const listed = new Map(entries.map((entry) => [entry.name, entry]));
    for (const name of this.decided.keys()) if (!listed.has(name)) this.decided.delete(name);
    const { marker } = this.parts.settings;
    for (const entry of whole) {
      if (signal.aborted) return;
      const itsMarker = marker === null ? undefined : listed.get(entry.name + marker);
      if (!(await this.handle(entry, itsMarker, signal, troubles))) return;
    }
    for (const orphan of orphans) {
      if (signal.aborted) return;
      await this.removeMarker(orphan);
    }
  }

  /** False where no further file is to be taken for now. */
  private async handle(
    entry: FolderEntry,
    marker: FolderEntry | undefined,
    signal: AbortSignal,
    troubles: Map<string, string>,
  ): Promise<boolean> {
    const before = this.decided.get(entry.name);
    const decided = before?.was === wasOf(entry) ? before : await this.take(entry, signal, troubles);
    if (decided === "wait") return false;
    if (decided === null) return true;
    this.decided.set(entry.name, decided);
    // After a stop the file is the next leader's, who knows it again by its key.
    if (signal.aborted) return false;
    try {
      await this.clear(entry, marker, decided);
      this.decided.delete(entry.name);
    } catch (error) {
      troubles.set(entry.name, `${entry.name} was taken in and cannot be moved (${errorText(error)})`);
    }
    return true;
  }

  private async clear(entry: FolderEntry, marker: FolderEntry | undefined, { fate, digest }: Decided): Promise<void> {
    const { settings, log } = this.parts;
    const { name } = entry;
    const to = fate === "archive" && settings.after === "delete" ? "aside" : fate;
    const { kind, moved } = await this.putAway(entry, to, digest);
    if (kind === "another") return;
    if (kind === "gone") log.info({ file: name }, "a file was gone before it could be moved");
    else if (to !== "aside" && moved !== name)
      log.info({ file: name, moved_to: moved }, "a file of that name was there already");
    if (marker !== undefined) await this.removeMarker(marker);
  }

  /** That of the next file, if there is one by now, stays. */
  private async removeMarker(marker: FolderEntry): Promise<void> {
    const now = await this.folder.look(marker.name);
    if (now !== null && wasOf(now) === wasOf(marker)) await this.folder.remove(marker.name);
  }

  /**
   * Moves the very file that was looked at, and no other: meanwhile its sender may have put the next one there, which nobody has
   * read. That one stays and is looked at as a new one, also where it came so late that it had to be put back.
   */
  private async putAway(entry: FolderEntry, to: Shelf, digest: string | null) {
    const { name } = entry;
    const now = await this.folder.look(name);
    if (now !== null && wasOf(now) !== wasOf(entry)) return { kind: "another", moved: null } as const;
    const moved = await this.folder.move(name, to, digest);
    if (moved === null) return { kind: "gone", moved } as const;
    const unread = { file: name, on: to, moved_to: moved };
    try {
      const there = await this.folder.look(moved, to);
      if (there === null || (await this.isTheOne(there, to, entry, digest))) {
        if (to === "aside") await this.folder.remove(moved);
        return { kind: "moved", moved } as const;
      }
      if (!(await this.folder.putBack(moved, to, name)))
        this.parts.log.error(unread, "a file that nobody has read was moved: put it back");
      return { kind: "another", moved: null } as const;
    } catch (error) {
      this.parts.log.warn(
        { ...unread, err: error },
        "a file was moved, and it could not be looked at whether it was read",
      );
      throw error;
    }
  }

  /** Some folders copy where they should rename: then only what is in a file tells whether it is the one that was read. */
  private async isTheOne(there: FolderEntry, on: Shelf, entry: FolderEntry, digest: string | null): Promise<boolean> {
    if (there.bytes !== entry.bytes) return false;
    const isUnchanged = there.modified === entry.modified && there.id === entry.id;
    if (isUnchanged || digest === null) return true;
    const reading = await this.folder.read(there, this.parts.settings.maxFileBytes, on);
    return reading.kind === "read" && digestOf(reading.body) === digest;
  }

  private async take(
    entry: FolderEntry,
    signal: AbortSignal,
    troubles: Map<string, string>,
  ): Promise<Decided | null | "wait"> {
    const { name } = entry;
    const { maxFileBytes, marker, settledPolls } = this.parts.settings;
    if (entry.bytes === 0) {
      // Who said that files appear whole has given an empty one. Any other may be a writer's that has not begun: moved away, it
      // would be written among the errors.
      if (marker !== null || settledPolls === 0) return this.refuse(entry, "it is empty");
      troubles.set(name, `${name} is empty: its writer may not have begun`);
      return null;
    }
    const reading = await this.folder.read(entry, maxFileBytes);
    switch (reading.kind) {
      case "gone":
      case "changing":
        return null;
      case "too large":
        return this.refuse(entry, `it has ${entry.bytes} bytes, and maxFileBytes is ${maxFileBytes}`);
      case "unreadable":
        troubles.set(name, `${name} cannot be read (${reading.reason})`);
        return null;
      case "read":
        return signal.aborted ? "wait" : await this.commit(entry, reading.body, signal, troubles);
    }
  }

  private async commit(
    entry: FolderEntry,
    body: Buffer,
    signal: AbortSignal,
    troubles: Map<string, string>,
  ): Promise<Decided | "wait"> {
    const { settings, log } = this.parts;
    const { name } = entry;
    const digest = digestOf(body);
    const { arrivals, problems } = messagesOf(this.folder.place, entry, body, settings.split);
    for (const problem of problems) log.warn({ file: name }, `a batch is not as it says: ${problem}`);
    if (arrivals.length === 0) return this.refuse(entry, "there is no message in it", digest);
    let refused = 0;
    for (const [at, arrival] of arrivals.entries()) {
      if (signal.aborted) return "wait";
      const receipt = await this.parts.accept(arrival, () => null);
      if (receipt.kind === "accepted") continue;
      if (receipt.retry) {
        troubles.set("", `${name} was not taken in: ${receipt.reason}`);
        return "wait";
      }
      refused += 1;
      log.warn({ file: name, message: at + 1 }, `a message of a file was refused: ${receipt.reason}`);
    }
    log.debug({ file: name, messages: arrivals.length }, "a file was taken in");
    return { was: wasOf(entry), fate: refused === 0 ? "archive" : "errors", digest };
  }

  private refuse(entry: FolderEntry, why: string, digest: string | null = null): Decided {
    this.parts.log.warn({ file: entry.name }, `a file goes to the errors: ${why}`);
    return { was: wasOf(entry), fate: "errors", digest };
  }

  private tell(troubles: ReadonlyMap<string, string>): void {
    for (const [file, trouble] of troubles) {
      if (this.troubles.get(file) !== trouble) this.parts.log.warn({ folder: this.folder.place }, trouble);
    }
    this.troubles = new Map(troubles);
    const [first] = troubles.values();
    const more = troubles.size > 1 ? `, and ${troubles.size - 1} more` : "";
    this.standing.become("polling", first === undefined ? null : first + more);
  }
}

/** Whether it is the one that was looked at before. */
function wasOf({ kind, modified, bytes, id = 0n }: FolderEntry): string {
  return `${kind} ${modified} ${bytes} ${id}`;
}
