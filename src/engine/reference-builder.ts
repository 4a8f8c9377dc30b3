import { createHash } from "node:crypto";
import type { Logger } from "pino";
import { parseDuration } from "../config/duration.js";
import type { Clock } from "../election/clock.js";
import { HoldfastError } from "../errors.js";
import type { Json } from "../jobs/core/job.js";
import { pause } from "../lifecycle/pause.js";
import { within } from "../lifecycle/within.js";
import type { EngineBook, ReferenceRow } from "../store/engine-contract.js";
import type { FenceToken } from "../store/fence-token.js";
import type { ReferenceDefinition, ReferenceOrigin } from "./definition.js";
import type { Graph } from "./graph.js";
import type { ReferenceSets } from "./reference-sets.js";

/** The rows of an origin as they are there, in their order. Rejects with a HoldfastError that says what is wrong. */
export type ReadOrigin = (
  origin: ReferenceOrigin,
  signal: AbortSignal,
) => Promise<readonly Readonly<Record<string, Json>>[]>;

export interface ReferenceBuilderParts {
  readonly book: EngineBook;
  readonly read: ReadOrigin;
  readonly clock: Clock;
  readonly log: Logger;
}

const usualEvery = "5m";
const lookMs = 1_000;
/** How long a new leader waits for sets that nobody has built yet, before messages that need them wait instead. */
const firstBuildMs = 5_000;
const readMs = 60_000;

/** Builds reference sets on the leader: read anew from where they come from, and published as a whole if they have changed. */
export class ReferenceBuilder {
  private readonly parts: ReferenceBuilderParts;
  private readonly builtAt = new Map<string, number>();
  private fence: FenceToken | null = null;
  private sets: ReferenceSets | null = null;

  constructor(parts: ReferenceBuilderParts) {
    this.parts = parts;
  }

  /** A new leader has what was published; what never was is built now, if that does not take long. */
  async begin(fence: FenceToken, graph: Graph, sets: ReferenceSets): Promise<void> {
    this.fence = fence;
    this.sets = sets;
    this.builtAt.clear();
    const wanted = new Set(graph.references.keys());
    await sets.follow(wanted);
    const missing = [...graph.references.values()].filter(({ name }) => !sets.has(name));
    const building = Promise.all(missing.map(async (reference) => await this.build(reference)));
    await within(
      firstBuildMs,
      building.then(() => undefined),
    );
    if (missing.length > 0) await sets.follow(wanted);
  }

  /** Each set anew whenever its time has come, until the signal. */
  async keep(graph: () => Graph, signal: AbortSignal): Promise<void> {
    const { clock } = this.parts;
    while (!signal.aborted) {
      const { references } = graph();
      const due = [...references.values()].filter((reference) => this.isDue(reference));
      await Promise.all(due.map(async (reference) => await this.build(reference)));
      if (due.length > 0 && !signal.aborted) await this.look(new Set(references.keys()));
      await pause(clock, lookMs, signal);
    }
  }

  private isDue({ name, every = usualEvery }: ReferenceDefinition): boolean {
    const builtAt = this.builtAt.get(name);
    return builtAt === undefined || this.parts.clock.mono() - builtAt >= (parseDuration(every)?.ms ?? 0);
  }

  private async look(wanted: ReadonlySet<string>): Promise<void> {
    try {
      await this.sets?.follow(wanted);
    } catch (error) {
      this.parts.log.warn({ err: error }, "the reference sets could not be read");
    }
  }

  /** One that cannot be built stays as it is, and is tried again when its time has come. */
  private async build(reference: ReferenceDefinition): Promise<void> {
    const { book, read, clock, log } = this.parts;
    const { name, from, key } = reference;
    this.builtAt.set(name, clock.mono());
    try {
      const rows = keyed(name, key, await read(from, AbortSignal.timeout(readMs)));
      const hash = createHash("sha256").update(JSON.stringify(rows)).digest("hex");
      if (this.fence !== null) await book.publishReference(this.fence, { name, hash, rows });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      log.error({ reference: name, reason }, "a reference set could not be built: the old one stays");
    }
  }
}

/** A key that occurs twice would hide a row: the whole set is refused. */
function keyed(name: string, key: string, rows: readonly Readonly<Record<string, Json>>[]): readonly ReferenceRow[] {
  const seen = new Set<string>();
  return rows.map((row, index) => {
    const value = row[key];
    if (typeof value !== "string" && typeof value !== "number") {
      throw bad(name, `row ${index + 1} has no text or number under "${key}"`);
    }
    const found = String(value);
    if (seen.has(found)) throw bad(name, `"${found}" is the key of two rows, the second one being row ${index + 1}`);
    seen.add(found);
    return { key: found, value: row };
  });
}

function bad(name: string, problem: string): HoldfastError {
  return new HoldfastError("BAD_SETTINGS", `Reference set "${name}": ${problem}.`);
}
