/** Which packets of a host are lost: those that it sends, those that are sent to it, or both. */
export type Way = "both" | "to" | "from";

/** An address that something of the run lives at, and how a program is started there. */
export interface Host {
  readonly name: string;
  readonly address: string;
  /** The command as it has to be run for the program to live there. */
  enter(command: readonly string[]): readonly string[];
}

/** Another end of a host's connections. */
export interface Peer {
  readonly address: string;
  readonly port: number;
}

/** The net that the run lives in. */
export interface Network extends Disposable {
  readonly kind: "namespaces" | "loopback";
  /** What the orchestrator is reached at by everything else: its sinks, its receivers, its wire proxy. */
  readonly outside: string;
  /** By which the database is known, whichever of its servers is there. */
  readonly shared: string;
  addHost(name: string): Host;
  /** The shared address goes to this host. What was connected to the one before hears nothing of it. Null: to nobody. */
  moveShared(host: Host | null): void;
  /** Packets between the host and the peer are lost from now on, without a word to either side; without a peer, all packets. */
  cut(host: Host, way: Way, peer?: Peer): void;
  mend(host: Host): void;
}
