import { isDeepStrictEqual } from "node:util";
import { within } from "../lifecycle/within.js";
import { connectionOf } from "./core/lane-names.js";
import type { OutboundDefinition } from "./definition.js";
import type { DeliveryOutcome, Destination, DestinationState } from "./transports/transport.js";

interface Open {
  readonly transport: OutboundDefinition["transport"];
  readonly destination: Destination;
}

/** The destinations of one term: one for each lane, since the messages of a lane go out one after another. */
export class Outbounds {
  private readonly open: (outbound: OutboundDefinition) => Destination;
  private readonly byLane = new Map<string, Open>();
  private readonly sending = new Map<string, Promise<unknown>>();
  /** The last position of each lane that has arrived, whether or not the database knows it yet. */
  private readonly arrived = new Map<string, number>();
  private readonly questioned = new Map<string, number>();
  /** To be closed as soon as they have sent what they are sending. */
  private readonly leaving = new Set<Destination>();

  constructor(open: (outbound: OutboundDefinition) => Destination) {
    this.open = open;
  }

  /** The states of an outbound's destinations; none where nothing went out yet. */
  statesOf(name: string): readonly DestinationState[] {
    return this.ofOutbound(name).map(([, { destination }]) => destination.state);
  }

  destinationOf(outbound: OutboundDefinition, lane: string): Destination {
    const known = this.byLane.get(lane);
    if (known !== undefined && isDeepStrictEqual(known.transport, outbound.transport)) return known.destination;
    if (known !== undefined) void known.destination.close(); // The lane sends one at a time: this one is idle.
    const destination = this.open(outbound);
    this.byLane.set(lane, { transport: outbound.transport, destination });
    return destination;
  }

  /** What has arrived is not sent again in the same term, also where the term lost track of what it had settled. */
  hasArrived(lane: string, position: number): boolean {
    return position <= (this.arrived.get(lane) ?? 0);
  }

  /** True the first time: somebody is asked whether it goes out again, and whoever then starts the connection has decided. */
  isNewQuestion(lane: string, position: number): boolean {
    const isNew = this.questioned.get(lane) !== position;
    this.questioned.set(lane, position);
    return isNew;
  }

  /** One at a time for each lane. */
  async send(lane: string, position: number, send: () => Promise<DeliveryOutcome>): Promise<DeliveryOutcome> {
    const sent = send();
    this.sending.set(lane, sent);
    try {
      const outcome = await sent;
      if (outcome.kind === "delivered") this.arrived.set(lane, position);
      return outcome;
    } finally {
      if (this.sending.get(lane) === sent) this.sending.delete(lane);
    }
  }

  /** What is being sent is waited for: cut off, nobody would know whether it arrived. What comes meanwhile goes by a new one. */
  async close(name: string): Promise<void> {
    await this.leave(this.ofOutbound(name));
  }

  /** Closes those of outbounds that are not among these any more. */
  async keepOnly(names: ReadonlySet<string>): Promise<void> {
    await this.leave([...this.byLane].filter(([lane]) => !names.has(connectionOf(lane))));
  }

  /** What is being sent may end, for so long at most. */
  async closeAll(lingerMs: number): Promise<void> {
    await within(
      lingerMs,
      Promise.allSettled(this.sending.values()).then(() => undefined),
    );
    const closing = [...[...this.byLane.values()].map(({ destination }) => destination), ...this.leaving];
    this.byLane.clear();
    await Promise.all(closing.map(async (destination) => await destination.close()));
  }

  private async leave(those: readonly (readonly [string, Open])[]): Promise<void> {
    for (const [lane, { destination }] of those) {
      this.byLane.delete(lane);
      this.leaving.add(destination);
    }
    await Promise.all(
      those.map(async ([lane, { destination }]) => {
        await Promise.allSettled([this.sending.get(lane)]);
        this.leaving.delete(destination);
        await destination.close();
      }),
    );
  }

  private ofOutbound(name: string): readonly (readonly [string, Open])[] {
    return [...this.byLane].filter(([lane]) => connectionOf(lane) === name);
  }
}
