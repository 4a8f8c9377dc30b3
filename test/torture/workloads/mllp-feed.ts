import { ConfigFiles } from "../../support/config-folder.js";
import { feedFiles, wards } from "../../support/engine-feed.js";
import { EngineLoad, type SendingEnd } from "../../support/engine-load.js";
import { EngineReceivers } from "../../support/engine-receivers.js";
import { monotonicMs } from "../clock.js";
import type { Outcome } from "../history.js";
import type { NodeTask } from "../node-order.js";
import { mllpPort, type Place } from "../place.js";
import type { Scene, Workload } from "../workload.js";
import { untilAborted } from "./pace.js";
import { atDatabase, untilNoneLeft } from "./until-settled.js";

const outcomes: Readonly<Record<SendingEnd["kind"], Outcome>> = {
  acknowledged: "done",
  refused: "refused",
  given_up: "unknown",
};

/**
 * Senders that each wait for the acknowledgement of one message before they send the next; a graph that hands their messages on, some of
 * them by lanes of a key; and the receivers behind it.
 */
export class MllpFeed implements Workload {
  readonly name = "mllp";
  private readonly senders: number;
  private readonly perSecond: number;
  private receivers: EngineReceivers | null = null;
  private readonly folders: ConfigFiles[] = [];
  private load: EngineLoad | null = null;

  constructor({ senders = 10, perSecond = 40 }: { readonly senders?: number; readonly perSecond?: number } = {}) {
    this.senders = senders;
    this.perSecond = perSecond;
  }

  async prepare({ places, outsideHost, log }: Scene): Promise<Partial<NodeTask>> {
    const receivers = await EngineReceivers.listen(new Map(places.map((_, index) => [index, outsideHost])));
    this.receivers = receivers;
    receivers.onArrived(({ controlId, link: { outbound }, intact }) => {
      const [sender = "", number] = controlId.split("-");
      const at = monotonicMs();
      log({ by: outbound, at, kind: "mllp_received", outbound, sender, controlId, number: Number(number), intact });
    });
    const graphs: Record<string, string> = {};
    for (const [index, place] of places.entries()) {
      const inbounds = new Map(wards.map((ward) => [ward, inboundOf(place, ward)]));
      const folder = await ConfigFiles.write(feedFiles(inbounds, receivers.seenFrom(index)));
      this.folders.push(folder);
      graphs[place.name] = folder.path;
    }
    return { graphs };
  }

  /** What was sent and not acknowledged when the load ends is sent on, as a sender does that must not lose anything. */
  async run({ places, log, signal }: Scene): Promise<void> {
    const load = new EngineLoad({
      senders: this.senders,
      rate: this.perSecond,
      waysTo: (ward) => places.map((place, index) => ({ place: index, ...inboundOf(place, ward) })),
      onEnd: ({ kind, tookMs, ...message }) => {
        const to = monotonicMs();
        log({
          by: message.sender,
          at: to,
          from: to - tookMs,
          to,
          kind: "mllp_sent",
          ...message,
          outcome: outcomes[kind],
        });
      },
    });
    this.load = load;
    await untilAborted(signal);
    load.goAt(0);
  }

  async settle({ directUrl }: Scene): Promise<void> {
    await this.load?.stop();
    await untilNoneLeft("messages in the engine", async () => {
      const { rows } = await atDatabase(directUrl, (client) =>
        client.query<{ left: string }>(
          `SELECT count(*) AS left FROM holdfast.lanes l
           JOIN holdfast.messages m ON m.lane = l.id AND m.position > l.done WHERE l.queue = 'engine'`,
        ),
      );
      return Number(rows[0]?.left);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.folders.map((folder) => folder[Symbol.asyncDispose]()));
    await this.receivers?.[Symbol.asyncDispose]();
  }
}

function inboundOf({ host }: Place, ward: string): { readonly host: string; readonly port: number } {
  return { host, port: mllpPort + wards.indexOf(ward as (typeof wards)[number]) };
}
