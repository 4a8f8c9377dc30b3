import type { Logger } from "pino";
import type { Clock } from "../election/clock.js";
import { HoldfastError } from "../errors.js";
import { pause } from "../lifecycle/pause.js";
import type { ConnectionBook, Stopped } from "../store/connection-contract.js";
import type { FenceToken } from "../store/fence-token.js";
import { type ConnectionView, stoppedView } from "./connection-view.js";
import type { InboundDefinition, OutboundDefinition } from "./definition.js";
import type { Graph } from "./graph.js";
import { Inbounds } from "./inbounds.js";
import { meantOf } from "./meant-name.js";
import { Outbounds } from "./outbounds.js";
import type { Destination, Source } from "./transports/transport.js";

export interface ConnectionsParts {
  readonly book: ConnectionBook;
  readonly graph: () => Graph;
  readonly openSource: (inbound: InboundDefinition) => Source;
  readonly openDestination: (outbound: OutboundDefinition) => Destination;
  readonly clock: Clock;
  readonly log: Logger;
  /** Lanes of an outbound may go on, or have to wait. */
  readonly outboundsChanged: () => void;
}

const haltAgainMs = 200;

/** That a connection is stopped. `order`: what was asked for later came after it; none where it was read. */
type Mark = Stopped & { readonly at: number; readonly order?: number };

/** The connections of one term: what is open, and what somebody has stopped. */
export class Connections {
  readonly outbounds: Outbounds;
  private readonly parts: ConnectionsParts;
  private readonly inbounds: Inbounds;
  private readonly stopped = new Map<string, Mark>();
  /** Those whose stop the database does not know of yet. */
  private readonly unstored = new Set<string>();
  private fence: FenceToken | null = null;
  /** What is stored and marked, and what is opened and closed, each one after another: a source that hangs holds up no stop. */
  private readonly turns = { marks: Promise.resolve(), sources: Promise.resolve() };
  private isOver = false;
  /** How often it was asked to stop or to start something. */
  private asked = 0;

  constructor(parts: ConnectionsParts) {
    this.parts = parts;
    this.inbounds = new Inbounds({ clock: parts.clock, log: parts.log, open: parts.openSource });
    this.outbounds = new Outbounds(parts.openDestination);
  }

  /** What was stopped stays stopped, whoever leads. */
  async read(fence: FenceToken): Promise<void> {
    await this.inTurn("marks", async () => {
      const rows = await this.parts.book.all();
      this.fence = fence;
      for (const name of this.stopped.keys()) if (!this.unstored.has(name)) this.stopped.delete(name);
      for (const { name, stopped } of rows) {
        if (stopped !== null && !this.unstored.has(name)) this.stopped.set(name, stopped);
      }
    });
  }

  /** Opens what is to be open, and closes what is not: at the start of a term, and when the graph is another one. */
  async run(): Promise<void> {
    await this.inTurn("sources", async () => {
      // Before it is known what was stopped, nothing is opened.
      if (this.isOver || this.fence === null) return;
      const { inbounds, outbounds } = this.parts.graph();
      void this.outbounds.keepOnly(new Set(outbounds.keys()));
      await this.inbounds.run([...inbounds.values()].filter(({ name }) => !this.stopped.has(name)));
    });
    this.parts.outboundsChanged();
  }

  /** Nothing comes in any more from the moment of the call; what is being sent may end. */
  async close(lingerMs: number): Promise<void> {
    this.isOver = true;
    await Promise.all([this.inbounds.stopAll(), this.outbounds.closeAll(lingerMs)]);
    // A start that was under way may have opened one more.
    await this.turns.sources;
    await this.inbounds.stopAll();
  }

  isStopped(name: string): boolean {
    return this.stopped.has(name);
  }

  async stop(name: string, by: string, reason: string): Promise<ConnectionView> {
    const direction = this.directionOf(name);
    const before = this.stopped.get(name);
    const wasUnstored = this.unstored.has(name);
    // In memory first: nothing more is to go through while the database is asked.
    const stopped = this.mark(name, by, reason);
    const isMeant = (): boolean => this.stopped.get(name) === stopped;
    this.unstored.add(name);
    await this.inTurn("marks", async () => {
      try {
        await this.parts.book.setStopped(this.requireFence(), name, { by, reason });
        if (isMeant()) this.unstored.delete(name);
      } catch (error) {
        if (isMeant()) {
          this.unmark(name, before);
          if (wasUnstored && before !== undefined) void this.store(name, before);
        }
        throw error;
      }
    });
    // Whoever started it meanwhile has it running.
    if (direction === "outbound" && isMeant()) await this.outbounds.close(name);
    if (direction === "inbound") {
      await this.inTurn("sources", async () => {
        if (this.stopped.has(name)) await this.inbounds.stop(name);
      });
    }
    return this.viewOf(name);
  }

  /**
   * On the engine's own account: an outbound waits for a person. It does from the call on, and in this term whatever the
   * database says. Resolves when it is stored, or the term is over.
   */
  async halt(name: string, reason: string): Promise<void> {
    await this.store(name, this.mark(name, "holdfast", reason));
    void this.outbounds.close(name);
  }

  private async store(name: string, mark: Mark): Promise<void> {
    const { book, clock, log } = this.parts;
    const { by, reason } = mark;
    this.unstored.add(name);
    const isMeant = (): boolean => !this.isOver && this.stopped.get(name) === mark;
    for (let tries = 0; isMeant(); tries += 1) {
      try {
        await this.inTurn("marks", async () => {
          if (isMeant()) await book.setStopped(this.requireFence(), name, { by, reason });
        });
        break;
      } catch (error) {
        if (tries === 0)
          log.warn({ err: error, connection: name }, "it is not stored yet that a connection is stopped");
        await pause(clock, haltAgainMs);
      }
    }
    if (isMeant()) this.unstored.delete(name);
  }

  async start(name: string): Promise<ConnectionView> {
    this.directionOf(name);
    const order = ++this.asked;
    await this.inTurn("marks", async () => {
      await this.parts.book.setStopped(this.requireFence(), name, null);
      // What was stopped after this was asked for stays so.
      if ((this.stopped.get(name)?.order ?? 0) < order) this.unmark(name, undefined);
    });
    await this.run();
    return this.viewOf(name);
  }

  async restart(name: string): Promise<ConnectionView> {
    const direction = this.directionOf(name);
    if (this.stopped.has(name)) return await this.start(name);
    if (direction === "inbound") await this.inTurn("sources", async () => await this.inbounds.stop(name));
    else await this.outbounds.close(name);
    await this.run();
    return this.viewOf(name);
  }

  views(): readonly ConnectionView[] {
    const { inbounds, outbounds } = this.parts.graph();
    return [
      ...[...inbounds.values()].map((inbound) => this.inboundView(inbound)),
      ...[...outbounds.values()].map((outbound) => this.outboundView(outbound)),
    ];
  }

  private mark(name: string, by: string, reason: string): Mark {
    const stopped = { by, reason, at: this.parts.clock.wall(), order: ++this.asked };
    this.stopped.set(name, stopped);
    this.parts.outboundsChanged();
    return stopped;
  }

  private unmark(name: string, before: Mark | undefined): void {
    this.unstored.delete(name);
    if (before === undefined) this.stopped.delete(name);
    else this.stopped.set(name, before);
    this.parts.outboundsChanged();
  }

  private viewOf(name: string): ConnectionView {
    const view = this.views().find((one) => one.name === name);
    if (view === undefined) throw unknown(name, []);
    return view;
  }

  private inboundView({ name, transport }: InboundDefinition): ConnectionView {
    const told = { name, direction: "inbound", transport: transport.kind } as const;
    const stopped = this.stopped.get(name);
    const state = this.inbounds.stateOf(name);
    if (stopped !== undefined) return { ...told, ...stoppedView(stopped) };
    const { reason = null, since = null, connections = 0 } = state ?? {};
    switch (state?.kind) {
      case "listening":
      case "polling":
        return { ...told, state: "running", reason, since, connections };
      case "failed":
      case "starting":
        return { ...told, state: state.kind, reason, since, connections };
      case "stopped":
      case undefined:
        return { ...told, state: "stopped", reason, since, connections };
    }
  }

  private outboundView({ name, transport }: OutboundDefinition): ConnectionView {
    const told = { name, direction: "outbound", transport: transport.kind } as const;
    const stopped = this.stopped.get(name);
    if (stopped !== undefined) return { ...told, ...stoppedView(stopped) };
    const states = this.outbounds.statesOf(name);
    const failed = states.find(({ kind }) => kind === "failed");
    const connections = states.filter(({ kind }) => kind === "connected").length;
    const { reason = null, since = null } = failed ?? states[0] ?? {};
    return { ...told, state: failed === undefined ? "running" : "failed", reason, since, connections };
  }

  private directionOf(name: string): ConnectionView["direction"] {
    const { inbounds, outbounds } = this.parts.graph();
    if (inbounds.has(name)) return "inbound";
    if (outbounds.has(name)) return "outbound";
    throw unknown(name, [...inbounds.keys(), ...outbounds.keys()]);
  }

  private requireFence(): FenceToken {
    if (this.fence !== null && !this.isOver) return this.fence;
    throw new HoldfastError("CLOSED", "The connections of this term are closed.");
  }

  /** Each finds what the last has left. */
  private inTurn(of: "marks" | "sources", work: () => Promise<void>): Promise<void> {
    const done = this.turns[of].then(work);
    this.turns[of] = done.catch(() => undefined);
    return done;
  }
}

function unknown(name: string, known: readonly string[]): HoldfastError {
  return new HoldfastError("NOT_FOUND", `There is no connection "${name}" in the configuration${meantOf(name, known)}`);
}
