import { HoldfastError } from "../errors.js";
import type { Json } from "../jobs/core/job.js";
import { checkJson } from "../jobs/new-job.js";
import type { EngineBook } from "../store/engine-contract.js";
import type { StateWrite } from "../store/journal.js";
import type { StateNamespace } from "./definition.js";

type Entries = Map<string, Json>;

const longestKey = 500;

/**
 * What handlers remember, as this node knows it. On the leader it is ahead of the database by what is being committed; where
 * that is lost, all of it is read anew before anything is handled again. Standbys follow by the versions of the namespaces.
 */
export class SharedState {
  private readonly book: Pick<EngineBook, "stateVersions" | "readState">;
  private readonly namespaces = new Map<string, Entries>();
  private readonly versions = new Map<string, number>();
  /** Whether something was handled here since all was read. */
  private isAhead = false;
  /** One reading after the other: what a slow one brings would be older than what has been handled since. */
  private turn: Promise<unknown> = Promise.resolve();

  constructor(book: Pick<EngineBook, "stateVersions" | "readState">) {
    this.book = book;
  }

  /** Reads what has changed since the last time; on a standby, whenever it looks. */
  async follow(): Promise<void> {
    await this.inTurn(async () => await this.read());
  }

  /**
   * Forgets what was never committed: nothing is handled between this and the reading. A node that has only followed has nothing
   * to forget, and reads what is new.
   */
  async reload(): Promise<void> {
    await this.inTurn(async () => {
      if (this.isAhead) {
        this.namespaces.clear();
        this.versions.clear();
        this.isAhead = false;
      }
      await this.read();
    });
  }

  private async read(): Promise<void> {
    for (const [namespace, version] of await this.book.stateVersions()) {
      const known = this.versions.get(namespace) ?? 0;
      if (version === known) continue;
      const reading = await this.book.readState(namespace, known);
      const entries = this.entriesOf(namespace);
      for (const { key, value } of reading.entries) {
        if (value === undefined) entries.delete(key);
        else entries.set(key, value);
      }
      this.versions.set(namespace, reading.version);
    }
  }

  /** What one message reads and writes. Of a message that fails nothing is kept. */
  draft(allowed: readonly string[]): StateDraft {
    const open = (namespace: string): Entries => {
      if (allowed.includes(namespace)) return this.entriesOf(namespace);
      throw new HoldfastError("INVALID_REQUEST", `The handler does not declare the state "${namespace}".`);
    };
    return new StateDraft(open, () => {
      this.isAhead = true;
    });
  }

  private async inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.turn.then(work);
    this.turn = done.catch(() => undefined);
    await done;
  }

  private entriesOf(namespace: string): Entries {
    const known = this.namespaces.get(namespace);
    if (known !== undefined) return known;
    const made: Entries = new Map();
    this.namespaces.set(namespace, made);
    return made;
  }
}

export class StateDraft {
  private readonly open: (namespace: string) => Entries;
  private readonly changed: () => void;
  private readonly writes = new Map<string, Map<string, Json | undefined>>();

  constructor(open: (namespace: string) => Entries, changed: () => void) {
    this.open = open;
    this.changed = changed;
  }

  namespace(name: string): StateNamespace {
    const entries = this.open(name);
    const written = this.writes.get(name) ?? new Map<string, Json | undefined>();
    this.writes.set(name, written);
    return {
      get: (key) => (written.has(key) ? written.get(key) : entries.get(key)),
      set: (key, value) => {
        written.set(checkKey(key), copyOf(value));
      },
      delete: (key) => {
        written.set(checkKey(key), undefined);
      },
    };
  }

  get isChanged(): boolean {
    return [...this.writes.values()].some(({ size }) => size > 0);
  }

  /** From here on what is handled next sees it; it is stored by the commit that finishes the message. */
  commit(): readonly StateWrite[] {
    const writes: StateWrite[] = [];
    for (const [namespace, written] of this.writes) {
      const entries = this.open(namespace);
      for (const [key, value] of written) {
        if (value === undefined) entries.delete(key);
        else entries.set(key, value);
        writes.push({ namespace, key, value });
      }
    }
    if (writes.length > 0) this.changed();
    return writes;
  }
}

function checkKey(key: string): string {
  if (typeof key === "string" && key !== "" && key.length <= longestKey && !/[\0\p{Cs}]/u.test(key)) return key;
  throw new HoldfastError("INVALID_REQUEST", `A key of the state must be a text of 1 to ${longestKey} characters.`);
}

/** A copy: what the handler does to its object afterwards is not remembered. */
function copyOf(value: Json): Json {
  checkJson("state", value);
  return JSON.parse(JSON.stringify(value)) as Json;
}
