import { isDeepStrictEqual } from "node:util";
import type { OutboundDefinition } from "./definition.js";
import type { Destination, DestinationState } from "./transports/transport.js";

interface Open {
  readonly transport: OutboundDefinition["transport"];
  readonly destination: Destination;
}

/** The destinations of one term: one for each lane, since the messages of a lane go out one after another. */
export class Outbounds {
  private readonly open: (outbound: OutboundDefinition) => Destination;
  private readonly byLane = new Map<string, Open>();

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
    if (known !== undefined) void known.destination.close();
    const destination = this.open(outbound);
    this.byLane.set(lane, { transport: outbound.transport, destination });
    return destination;
  }

  async close(name: string): Promise<void> {
    const closing = this.ofOutbound(name);
    for (const [lane] of closing) this.byLane.delete(lane);
    await Promise.all(closing.map(async ([, { destination }]) => await destination.close()));
  }

  async closeAll(): Promise<void> {
    const closing = [...this.byLane.values()];
    this.byLane.clear();
    await Promise.all(closing.map(async ({ destination }) => await destination.close()));
  }

  private ofOutbound(name: string): readonly (readonly [string, Open])[] {
    return [...this.byLane].filter(([lane]) => lane === name || lane.startsWith(`${name}/`));
  }
}
