import type { Logger } from "pino";
import type { Holder } from "../election/core/lease.js";
import { HoldfastError } from "../errors.js";
import type { EngineBook } from "../store/engine-contract.js";
import type { ConfigFolder, Loaded } from "./config-folder/config-folder.js";

export interface ConvergenceParts {
  readonly folder: Pick<ConfigFolder, "load" | "path">;
  readonly book: Pick<EngineBook, "raiseConfigVersion" | "publishConfig">;
  readonly me: Pick<Holder, "nodeId" | "incarnation">;
  readonly log: Logger;
  readonly first: Loaded;
  /** From here on this graph runs. */
  readonly apply: (loaded: Loaded) => Promise<void>;
  /** What the cluster's newest configuration has, and this node did not know, may be there now. */
  readonly caughtUp: () => void;
}

export interface ReloadReport {
  readonly dryRun: boolean;
  /** The shared version; after a dry run what it is now. */
  readonly version: number;
  readonly hash: string;
  readonly warnings: readonly string[];
  readonly changes: GraphChanges;
}

export interface GraphChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/**
 * Which configuration this node runs. The version is the cluster's, the folder is the node's own: whoever hears of a new
 * version loads its folder, runs it if it is sound, and says so if it is not.
 */
export class Convergence {
  private readonly parts: ConvergenceParts;
  private loaded: Loaded;
  private running = 0;
  /** The newest version that was tried, whatever came of it. */
  private tried = 0;
  /** The newest version that there is, as far as this node has heard. */
  private newest = 0;
  private error: string | null = null;
  private turn: Promise<unknown> = Promise.resolve();

  constructor(parts: ConvergenceParts) {
    this.parts = parts;
    this.loaded = parts.first;
  }

  /** The shared version that this node runs. */
  get version(): number {
    return this.running;
  }

  /** Whether others run what this node does not know yet, or could not load. */
  get isBehind(): boolean {
    return this.newest > this.running;
  }

  get hash(): string {
    return this.loaded.hash;
  }

  /** What was loaded at the start is as new as the version that was known before; what is newer is heard of. */
  async begin(version: number): Promise<void> {
    this.running = version;
    this.tried = version;
    await this.inTurn(async () => await this.publish());
  }

  /** Heard with every beat. */
  heard(version: number): void {
    this.newest = Math.max(this.newest, version);
    if (version <= this.tried) return;
    this.tried = version;
    const { log } = this.parts;
    this.inTurn(async () => await this.follow(version)).catch((error: unknown) => {
      // With the next beat it is tried again.
      this.tried = this.running;
      log.warn({ err: error, config_version: version }, "the configuration could not be loaded anew");
    });
  }

  /** Loads this node's folder, and has the others load theirs. Of a folder with problems nothing is taken. */
  async reload(dryRun: boolean): Promise<ReloadReport> {
    return await this.inTurn(async () => {
      const { folder, book } = this.parts;
      const loaded = await folder.load();
      if (loaded.kind === "rejected") {
        const message = `The configuration is not sound, and nothing was changed: ${loaded.problems.join(" ")}`;
        throw new HoldfastError("INVALID_REQUEST", message, { details: { problems: loaded.problems } });
      }
      const changes = changesBetween(this.loaded, loaded);
      const { hash, warnings } = loaded;
      if (dryRun) return { dryRun, version: this.running, hash, warnings, changes };
      const version = await book.raiseConfigVersion();
      this.tried = Math.max(this.tried, version);
      this.newest = Math.max(this.newest, version);
      await this.take(loaded, version);
      return { dryRun, version, hash, warnings, changes };
    });
  }

  private async follow(version: number): Promise<void> {
    const { folder, log } = this.parts;
    // A reload of this very node may have been heard of before it was answered.
    if (version <= this.running) return;
    const loaded = await folder.load();
    if (loaded.kind === "loaded") {
      // What was loaded at the start may be that already.
      if (this.running === 0 && loaded.hash === this.hash) await this.run(loaded, version);
      else await this.take(loaded, version);
      return;
    }
    // Which one it speaks of: whoever waits for the next version is not to take it for that one's.
    this.error = `version ${version} cannot run: ${loaded.problems.join(" ")}`;
    log.error(
      { config_version: version, problems: loaded.problems },
      "the configuration is not sound: the old one runs on",
    );
    await this.publish();
  }

  private async take(loaded: Loaded, version: number): Promise<void> {
    await this.parts.apply(loaded);
    await this.run(loaded, version);
  }

  private async run(loaded: Loaded, version: number): Promise<void> {
    this.loaded = loaded;
    this.running = version;
    this.error = null;
    this.parts.caughtUp();
    this.parts.log.info({ config_version: version, hash: loaded.hash }, "a new configuration runs");
    await this.publish();
  }

  private async publish(): Promise<void> {
    const { book, me } = this.parts;
    await book.publishConfig(me, { version: this.running, hash: this.loaded.hash, error: this.error });
  }

  private inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.turn.then(work);
    this.turn = done.catch(() => undefined);
    return done;
  }
}

function changesBetween(before: Loaded, after: Loaded): GraphChanges {
  const old = namesOf(before);
  const fresh = namesOf(after);
  return {
    added: [...fresh].filter((name) => !old.has(name)),
    removed: [...old].filter((name) => !fresh.has(name)),
  };
}

function namesOf({ graph }: Loaded): ReadonlySet<string> {
  const { inbounds, routers, handlers, outbounds, references } = graph;
  const named = { inbound: inbounds, router: routers, handler: handlers, outbound: outbounds, reference: references };
  return new Set(Object.entries(named).flatMap(([kind, all]) => [...all.keys()].map((name) => `${kind} ${name}`)));
}
