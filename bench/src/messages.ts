import type { EngineLoad, Exchange } from "./engine/engine-load.js";
import type { SearchFilter } from "./engine/search-filter.js";
import type { QueueLoad, Timing } from "./queue/queue-load.js";
import type { LoadSample } from "./soak/paced-load.js";

/** What a bench and its child processes say to each other. Times are of the machine-wide monotonic clock, in nanoseconds. */
export type FromProcess =
  | { readonly kind: "loaded" }
  | { readonly kind: "joined" }
  | Elected
  | { readonly kind: "steppingDown"; readonly at: bigint }
  | { readonly kind: "steppedDown" }
  /** A peer leads, or a bare session has the lock. */
  | { readonly kind: "leads"; readonly at: bigint }
  | { readonly kind: "waiting" }
  /** A lease of etcd, as long as the server grants it. */
  | { readonly kind: "granted"; readonly ttlSeconds: number }
  | { readonly kind: "running" }
  | { readonly kind: "stopped"; readonly commits: number }
  /** From the call of createNode. */
  | { readonly kind: "started"; readonly electedMs: number }
  | (Timing & { readonly kind: "measured" })
  | { readonly kind: "enqueued" }
  | Delivered
  | { readonly kind: "serving"; readonly url: string }
  /** From the moment before a job was sent to the moment when an agent had it, each in milliseconds. */
  | { readonly kind: "pickedUp"; readonly times: readonly number[] }
  /** Where MLLP messages are acknowledged. */
  | { readonly kind: "receiving"; readonly ports: readonly number[] }
  | (Exchange & { readonly kind: "exchanged" })
  | { readonly kind: "inserted"; readonly ms: number }
  | { readonly kind: "opened" }
  | { readonly kind: "searched"; readonly ms: number; readonly found: number }
  /** What is in use after a collection. */
  | { readonly kind: "heapSampled"; readonly bytes: number }
  | (LoadSample & { readonly kind: "loadSampled" })
  /** All that was sent has arrived. */
  | { readonly kind: "rested" }
  | { readonly kind: "failed"; readonly reason: string };

/** To a process of a soak. */
export interface OpenSoak {
  readonly kind: "openSoak";
  /** The graph that nodes run, and the port on which whoever leads listens for messages. */
  readonly folder: string;
  readonly port: number;
  /** Whether it is the first node, which leads. */
  readonly leads: boolean;
}

export interface Elected {
  readonly kind: "elected";
  readonly nodeId: string;
  readonly epoch: bigint;
  /** When the event came. */
  readonly at: bigint;
  /** What the acquires that led to it took, from sending to reply. */
  readonly acquireMs: number;
}

/** The first message that a new leader hands to its handler. */
export interface Delivered {
  readonly kind: "delivered";
  readonly nodeId: string;
  readonly at: bigint;
}

/** What a node does beside contending. */
export interface NodeExtras {
  /** It leaves copies of its metrics, as one does that has an HTTP server beside it. */
  readonly serves?: boolean;
  /** It has a queue whose handler never ends, so that something is in flight whenever a leader is killed. */
  readonly queue?: boolean;
}

interface Measure {
  readonly kind: "measure";
  readonly queue: string;
  readonly load: QueueLoad;
  /** Of the node that serves what is measured, where one does. */
  readonly address?: string;
}

export type ToProcess =
  | { readonly kind: "join"; readonly schema: string; readonly nodeIds: readonly string[]; readonly extras: NodeExtras }
  | { readonly kind: "stepDown"; readonly nodeId: string; readonly to?: string }
  | { readonly kind: "contend"; readonly key: number }
  /** In an election of etcd, with a lease of its own; again with the same lease; and no longer. */
  | { readonly kind: "campaign"; readonly name: string; readonly ttlSeconds: number }
  | { readonly kind: "campaignAgain" }
  | { readonly kind: "resign" }
  | Measure
  | { readonly kind: "enqueue"; readonly nodeId: string; readonly load: QueueLoad }
  /** With an HTTP server that takes so many connections; without a number, as many as it takes by default. */
  | { readonly kind: "serve"; readonly maxConnections?: number }
  /** So many agents wait for work; the first of them begin at once, and the last after this time. */
  | { readonly kind: "wait"; readonly agents: number; readonly withinMs: number }
  /** Each of them says every so often that it is there. */
  | { readonly kind: "beat"; readonly everyMs: number }
  /** Submits so many jobs, one after another. */
  | { readonly kind: "pickUp"; readonly jobs: number }
  | { readonly kind: "receive"; readonly interfaces: number }
  /** Sends a load to these ports. */
  | { readonly kind: "exchange"; readonly ports: readonly number[]; readonly load: EngineLoad }
  | { readonly kind: "insert"; readonly rows: number; readonly sessions: number }
  | { readonly kind: "openGraph"; readonly folder: string }
  | { readonly kind: "search"; readonly filter: SearchFilter; readonly limit: number }
  | OpenSoak
  /** At so many a second, or as fast as messages arrive. */
  | { readonly kind: "pace"; readonly perSecond: number | null }
  | { readonly kind: "sampleHeap" }
  | { readonly kind: "sampleLoad" }
  | { readonly kind: "rest" }
  | { readonly kind: "run" }
  | { readonly kind: "stop" };

export const roleName = "scheduler";
