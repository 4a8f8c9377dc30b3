import type { Clock } from "../../election/clock.js";
import type { DestinationState, SourceState } from "./transport.js";

interface Watched<State> {
  readonly clock: Clock;
  readonly changed: (state: State) => void;
}

/** Where a source stands, told to whoever watches at every change and only then. */
export class SourceStanding {
  private readonly watched: Watched<SourceState>;
  private current: SourceState;

  constructor(watched: Watched<SourceState>) {
    this.watched = watched;
    this.current = { kind: "stopped", reason: null, connections: 0, since: watched.clock.wall() };
  }

  get state(): SourceState {
    return this.current;
  }

  become(kind: SourceState["kind"], reason: string | null = null, connections = 0): void {
    const { current, watched } = this;
    if (current.kind === kind && current.reason === reason && current.connections === connections) return;
    const since = current.kind === kind ? current.since : watched.clock.wall();
    this.current = { kind, reason, connections, since };
    watched.changed(this.current);
  }
}

/** The same of a destination. */
export class DestinationStanding {
  private readonly watched: Watched<DestinationState>;
  private current: DestinationState;

  constructor(watched: Watched<DestinationState>) {
    this.watched = watched;
    this.current = { kind: "idle", reason: null, since: watched.clock.wall() };
  }

  get state(): DestinationState {
    return this.current;
  }

  /** A destination that is closed stays so, whatever an exchange that was cut off says later. */
  become(kind: DestinationState["kind"], reason: string | null = null): void {
    const { current, watched } = this;
    if (current.kind === "closed" || (current.kind === kind && current.reason === reason)) return;
    const since = current.kind === kind ? current.since : watched.clock.wall();
    this.current = { kind, reason, since };
    watched.changed(this.current);
  }
}
