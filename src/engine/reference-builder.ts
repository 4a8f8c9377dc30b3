import { createHash } from "node:crypto";
import type { Logger } from "pino";
import { parseDuration } from "../config/duration.js";
import type { Clock } from "../election/clock.js";
import { errorText, HoldfastError } from "../errors.js";
import type { Json } from "../jobs/core/job.js";
import { pause } from "../lifecycle/pause.js";
import { within } from "../lifecycle/within.js";
import type { EngineBook, ReferenceRow } from "../store/engine-contract.js";
import type { FenceToken } from "../store/fence-token.js";
import type { ReferenceDefinition, ReferenceOrigin } from "./definition.js";
import type { Graph } from "./graph.js";
import { inSlices } from "./in-slices.js";
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

/** What is known of the last build, or of the one that is under way. */
interface Build {
  readonly of: ReferenceDefinition;
  readonly beganAt: number;
  isUnderWay: boolean;
}

/** The leadership that builds: what it reads is published under its fence or not at all. */
interface Term {
  readonly fence: FenceToken;
  readonly sets: ReferenceSets;
  readonly signal: AbortSignal;
  readonly builds: Map<string, Build>;
  /** Of the sets that are published. */
  readonly hashes: Map<string, string>;
  /** Why sets could not be built when they were last tried, by name. */
  readonly failures: Map<string, string>;
}

/**
 * Builds reference sets on the leader: read anew from where they come from, and published as a whole if they have changed. Each
 * by itself: an origin that hangs holds up no other set, and no end of leadership.
 */
export class ReferenceBuilder {
  private readonly parts: ReferenceBuilderParts;
  private term: Term | null = null;
  private told = "";
  /** One telling after the other: an older one would take the newer one back. */
  private telling: Promise<void> = Promise.resolve();

  constructor(parts: ReferenceBuilderParts) {
    this.parts = parts;
  }

  /** A new leader has what was published; what never was is built now, if that does not take long. */
  async begin(fence: FenceToken, graph: Graph, sets: ReferenceSets, signal: AbortSignal): Promise<void> {
    const term: Term = { fence, sets, signal, builds: new Map(), hashes: new Map(), failures: new Map() };
    this.term = term;
    this.told = "";
    const published = await sets.follow(new Set(graph.references.keys()));
    for (const { name, hash } of published) term.hashes.set(name, hash);
    const missing = [...graph.references.values()].filter(({ name }) => !sets.has(name));
    const building = Promise.all(missing.map(async (reference) => await this.build(reference, term, () => graph)));
    await within(
      firstBuildMs,
      building.then(() => undefined),
    );
  }

  /** Why sets could not be built when this leader last tried, by name. */
  get failures(): ReadonlyMap<string, string> {
    return this.term?.failures ?? new Map<string, string>();
  }

  /** Each set anew whenever its time has come, or its definition was loaded anew, until the signal. */
  async keep(graph: () => Graph, signal: AbortSignal): Promise<void> {
    const term = this.term === null ? null : { ...this.term, signal };
    while (term !== null && !signal.aborted) {
      for (const reference of graph().references.values()) {
        if (this.isDue(reference, term)) void this.build(reference, term, graph);
      }
      await pause(this.parts.clock, lookMs, signal);
    }
  }

  private isDue(reference: ReferenceDefinition, { builds }: Term): boolean {
    const last = builds.get(reference.name);
    if (last === undefined) return true;
    if (last.isUnderWay) return false;
    const everyMs = parseDuration(reference.every ?? usualEvery)?.ms ?? 0;
    return last.of !== reference || this.parts.clock.mono() - last.beganAt >= everyMs;
  }

  /** One that cannot be built stays as it is, and is tried again when its time has come. Never rejects. */
  private async build(reference: ReferenceDefinition, term: Term, graph: () => Graph): Promise<void> {
    const { clock, log } = this.parts;
    const { name } = reference;
    const build: Build = { of: reference, beganAt: clock.mono(), isUnderWay: true };
    term.builds.set(name, build);
    try {
      await this.publish(reference, term);
      await term.sets.follow(new Set(graph().references.keys()));
      term.failures.delete(name);
    } catch (error) {
      if (term.signal.aborted) return;
      const reason = errorText(error);
      const told = term.sets.has(name) ? "the old one stays" : "its messages wait for it";
      log.error({ reference: name, reason }, `a reference set could not be built: ${told}`);
      term.failures.set(name, reason);
    } finally {
      build.isUnderWay = false;
    }
    this.telling = this.telling.then(async () => await this.tell(term, graph()));
    await this.telling;
  }

  /** To all nodes, where it has changed. What is lost of it is told with the next build. */
  private async tell({ fence, failures, signal }: Term, { references }: Graph): Promise<void> {
    for (const name of failures.keys()) if (!references.has(name)) failures.delete(name);
    const list = [...failures].map(([name, reason]) => ({ name, reason }));
    const text = JSON.stringify(list);
    if (text === this.told) return;
    try {
      await this.parts.book.tellReferenceFailures(fence, list);
      this.told = text;
    } catch (error) {
      if (!signal.aborted) this.parts.log.warn({ err: error }, "how the reference sets are could not be told");
    }
  }

  private async publish({ name, from, key }: ReferenceDefinition, term: Term): Promise<void> {
    const { book, read } = this.parts;
    const found = await read(from, AbortSignal.any([term.signal, AbortSignal.timeout(readMs)]));
    const { rows, hash } = await keyed(name, key, found);
    if (term.hashes.get(name) === hash) return;
    await book.publishReference(term.fence, { name, hash, rows });
    term.hashes.set(name, hash);
  }
}

/** A key that occurs twice would hide a row: the whole set is refused. */
async function keyed(
  name: string,
  key: string,
  found: readonly Readonly<Record<string, Json>>[],
): Promise<{ readonly rows: readonly ReferenceRow[]; readonly hash: string }> {
  const seen = new Set<string>();
  const rows: ReferenceRow[] = [];
  const hash = createHash("sha256");
  await inSlices(found, (row, index) => {
    const value = row[key];
    if (typeof value !== "string" && typeof value !== "number") {
      throw bad(name, `row ${index + 1} has no text or number under "${key}"`);
    }
    const text = String(value);
    if (seen.has(text)) throw bad(name, `"${text}" is the key of two rows, the second one being row ${index + 1}`);
    seen.add(text);
    rows.push({ key: text, value: row });
    hash.update(`${JSON.stringify([text, row])}\n`);
  });
  return { rows, hash: hash.digest("hex") };
}

function bad(name: string, problem: string): HoldfastError {
  return new HoldfastError("BAD_SETTINGS", `Reference set "${name}": ${problem}.`);
}
