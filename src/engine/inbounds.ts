import { isDeepStrictEqual } from "node:util";
import type { Logger } from "pino";
import type { Clock } from "../election/clock.js";
import { HoldfastError } from "../errors.js";
import { pause } from "../lifecycle/pause.js";
import type { InboundDefinition } from "./definition.js";
import type { Source, SourceState } from "./transports/transport.js";

export interface InboundsParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly open: (inbound: InboundDefinition) => Source;
}

/** How long a source that could not start rests before it is tried again. */
const restartMs = 5_000;

interface Running {
  readonly inbound: InboundDefinition;
  /** Null where not even that could be made: a file that its settings name is gone. */
  source: Source | null;
  /** Why there is none. */
  unmade: SourceState | null;
  /** Aborted when it is to stop: a start that waits for its next try is called off. */
  readonly over: AbortController;
  started: Promise<void>;
}

/**
 * The sources of one term. Only whoever leads has any: a standby binds nothing, so a load balancer that looks at the port
 * finds the leader by itself.
 */
export class Inbounds {
  private readonly parts: InboundsParts;
  private readonly running = new Map<string, Running>();

  constructor(parts: InboundsParts) {
    this.parts = parts;
  }

  /** Null where it is stopped. */
  stateOf(name: string): SourceState | null {
    const running = this.running.get(name);
    return running?.source?.state ?? running?.unmade ?? null;
  }

  /** Those that are wanted run, those that are not stop, and what has changed is begun anew. All of them at the same time. */
  async run(wanted: readonly InboundDefinition[]): Promise<void> {
    const byName = new Map(wanted.map((inbound) => [inbound.name, inbound]));
    // Every load of a folder makes new definitions: those that say the same leave the connection as it is.
    const leaving = [...this.running.values()].filter(
      ({ inbound }) => !isDeepStrictEqual(byName.get(inbound.name), inbound),
    );
    await Promise.all(leaving.map(async (one) => await this.stop(one.inbound.name)));
    const coming = wanted.filter(({ name }) => !this.running.has(name));
    await Promise.all(coming.map(async (inbound) => await this.start(inbound)));
  }

  /** Nothing is taken in any more from the moment of the call. */
  async stopAll(): Promise<void> {
    await Promise.all([...this.running.keys()].map(async (name) => await this.stop(name)));
  }

  async stop(name: string): Promise<void> {
    const running = this.running.get(name);
    if (running === undefined) return;
    running.over.abort();
    await running.source?.stop();
    await running.started;
    // Whoever started it again meanwhile has another one.
    if (this.running.get(name) === running) this.running.delete(name);
  }

  /** Resolves after the first try: one that cannot start does not hold the others up, and is tried again. */
  private async start(inbound: InboundDefinition): Promise<void> {
    let tried = (): void => undefined;
    const first = new Promise<void>((resolve) => {
      tried = resolve;
    });
    const running: Running = {
      inbound,
      source: null,
      unmade: null,
      over: new AbortController(),
      started: Promise.resolve(),
    };
    this.running.set(inbound.name, running);
    running.started = this.keepTrying(running, tried);
    await first;
  }

  private async keepTrying(running: Running, tried: () => void): Promise<void> {
    const { clock, log, open } = this.parts;
    const { inbound, over } = running;
    while (!over.signal.aborted) {
      try {
        running.source ??= open(inbound);
        await running.source.start();
        tried();
        return;
      } catch (error) {
        const reason = error instanceof HoldfastError ? error.message : String(error);
        if (running.source === null) {
          running.unmade = { kind: "failed", reason, connections: 0, since: running.unmade?.since ?? clock.wall() };
        }
        if (!over.signal.aborted) {
          log.error({ connection: inbound.name, reason }, "a connection cannot start, and is tried again");
        }
      }
      tried();
      await pause(clock, restartMs, over.signal);
    }
    tried();
  }
}
