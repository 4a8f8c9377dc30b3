import { HoldfastError } from "../errors.js";
import type { EngineBook, ReferenceVersion } from "../store/engine-contract.js";
import type { ReferenceRow, ReferenceSet } from "./definition.js";
import { inSlices } from "./in-slices.js";

interface Known {
  readonly version: number;
  readonly rows: ReadonlyMap<string, ReferenceRow>;
}

/** What a message needs is not there, and will be: it waits. */
export class NotYet extends HoldfastError {
  constructor(message: string) {
    super("REFUSED", message);
    this.name = "Error";
  }
}

/** The reference sets as this node has read them. The leader builds them; every node, the leader too, reads what was published. */
export class ReferenceSets {
  private readonly book: Pick<EngineBook, "referenceVersions" | "readReference">;
  private readonly known = new Map<string, Known>();
  /** One look after the other: a slow one would switch a set back to what it was. */
  private turn: Promise<unknown> = Promise.resolve();

  constructor(book: Pick<EngineBook, "referenceVersions" | "readReference">) {
    this.book = book;
  }

  /** Reads the sets that are new. A set is switched as a whole. */
  async follow(wanted: ReadonlySet<string>): Promise<readonly ReferenceVersion[]> {
    const done = this.turn.then(async () => await this.look(wanted));
    this.turn = done.catch(() => undefined);
    return await done;
  }

  private async look(wanted: ReadonlySet<string>): Promise<readonly ReferenceVersion[]> {
    const versions = (await this.book.referenceVersions()).filter(({ name }) => wanted.has(name));
    for (const { name, version } of versions) {
      if (this.known.get(name)?.version === version) continue;
      const rows = await this.book.readReference(name, version);
      if (rows === null) continue; // Another version is there by now: the next look finds it.
      const byKey = new Map<string, ReferenceRow>();
      await inSlices(rows, ({ key, value }) => byKey.set(key, value as ReferenceRow));
      this.known.set(name, { version, rows: byKey });
    }
    for (const name of this.known.keys()) if (!wanted.has(name)) this.known.delete(name);
    return versions;
  }

  /** For one message: the same set as long as it is handled. */
  view(name: string, declared: readonly string[]): ReferenceSet {
    if (!declared.includes(name)) {
      throw new HoldfastError("INVALID_REQUEST", `The handler does not declare the reference set "${name}".`);
    }
    const known = this.known.get(name);
    if (known === undefined) throw new NotYet(`reference set "${name}" was never built; its messages wait for it`);
    const { rows } = known;
    return { get: (key) => rows.get(key), has: (key) => rows.has(key), size: rows.size };
  }

  has(name: string): boolean {
    return this.known.has(name);
  }
}
