import { EventEmitter, once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { within } from "../../src/lifecycle/within.js";
import { ackFor, Sender } from "../integration/mllp-scene.js";
import { type Address, messageOf, outboundLanes, textOf } from "./engine-feed.js";
import type { ArrivedMessage, ReceiverLink } from "./engine-history.js";

/** The systems behind a graph: each has a port for every place that a node can call from, and keeps what came, and by which way. */
export class EngineReceivers implements AsyncDisposable {
  readonly arrived: ArrivedMessage[] = [];
  private readonly addresses = new Map<string, Address>();
  private readonly servers: Server[] = [];
  private readonly sockets = new Set<Socket>();
  private readonly events = new EventEmitter<{ arrived: [ArrivedMessage] }>();
  /** What waits for its answer while answers are held back. */
  private held: (() => void)[] | null = null;
  private links = 0;

  private constructor() {
    this.events.setMaxListeners(0);
  }

  /** The hosts, by place. */
  static async listen(hosts: ReadonlyMap<number, string>): Promise<EngineReceivers> {
    const receivers = new EngineReceivers();
    for (const outbound of outboundLanes.keys()) {
      for (const [place, host] of hosts) await receivers.open(outbound, place, host);
    }
    return receivers;
  }

  /** How a node at this place reaches each of them. */
  seenFrom(place: number): ReadonlyMap<string, Address> {
    const own = [...outboundLanes.keys()].flatMap((outbound): [string, Address][] => {
      const address = this.addresses.get(`${outbound} ${place}`);
      return address === undefined ? [] : [[outbound, address]];
    });
    return new Map(own);
  }

  /** Called with each message that comes from now on. */
  onArrived(told: (message: ArrivedMessage) => void): void {
    this.events.on("arrived", told);
  }

  /** The first that comes from elsewhere than this place after this moment: whoever writes it leads. */
  async firstFromElsewhere(place: number, since: number, patienceMs: number): Promise<ArrivedMessage> {
    const isIt = ({ link, at }: ArrivedMessage): boolean => link.place !== place && at > since;
    const known = this.arrived.find(isIt);
    if (known !== undefined) return known;
    return await this.soon("a delivery by the next leader", patienceMs, async () => {
      for (;;) {
        const [next] = await once(this.events, "arrived");
        if (isIt(next as ArrivedMessage)) return next as ArrivedMessage;
      }
    });
  }

  /** Resolves when so many more have come. */
  async more(count: number, patienceMs: number): Promise<void> {
    const wanted = this.arrived.length + count;
    await this.soon(`${count} deliveries`, patienceMs, async () => {
      while (this.arrived.length < wanted) await once(this.events, "arrived");
    });
  }

  /** From now on nothing is answered, so that lanes fill up; until `release`. */
  hold(): void {
    this.held ??= [];
  }

  release(): void {
    const waiting = this.held ?? [];
    this.held = null;
    for (const answer of waiting) answer();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await Promise.all(this.servers.map((server) => new Promise((resolve) => server.close(resolve))));
  }

  private async soon<Result>(what: string, patienceMs: number, wait: () => Promise<Result>): Promise<Result> {
    return await within(patienceMs, wait(), () => {
      throw new Error(`Waited in vain for ${what}.`);
    });
  }

  private async open(outbound: string, place: number, host: string): Promise<void> {
    const server = createServer((socket) => {
      this.sockets.add(socket);
      socket.once("close", () => this.sockets.delete(socket));
      this.links += 1;
      void this.serve(new Sender(socket), { id: this.links, outbound, place, openedAt: performance.now() });
    });
    this.servers.push(server);
    server.listen(0, host);
    await once(server, "listening");
    this.addresses.set(`${outbound} ${place}`, { host, port: (server.address() as AddressInfo).port });
  }

  private async serve(node: Sender, link: ReceiverLink): Promise<void> {
    for (let body = await node.next(); body !== null; body = await node.next()) {
      const fields = body.split("|");
      const controlId = fields[9] ?? "";
      const [sender = "", number] = controlId.split("-");
      const sent = messageOf(sender, fields[2] ?? "", Number(number));
      const intact = body === textOf(sent, link.outbound);
      const one = { controlId, link, at: performance.now(), intact };
      this.arrived.push(one);
      const answer = (): void => node.send(ackFor(body));
      if (this.held === null) answer();
      else this.held.push(answer);
      this.events.emit("arrived", one);
    }
  }
}
