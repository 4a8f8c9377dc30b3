import type { NodeOptions } from "../../src/node.js";
import { apiPort, type Place, servicePort } from "./place.js";

/** What the checkers go by, too. */
export const timings = { heartbeatMs: 250, fenceMs: 1_500, ttlMs: 2_000, nodeTimeoutMs: 1_500 } as const;

/** How the node of a place reaches its database. */
export interface DatabasePath {
  readonly url: string;
  /** A direct way for beats and locks, where `url` goes through a pooler. */
  readonly electionUrl?: string;
  /** Off loopback the product asks for TLS. */
  readonly tls?: "require" | "disable";
}

/** Of the node with this name, in this place. What fails here again and again, on purpose, must not be the end of a job. */
export function nodeSettings(name: string, place: Place, { url, electionUrl, tls }: DatabasePath): NodeOptions {
  return {
    store: {
      url,
      leaseTtlSeconds: 3,
      ...(electionUrl === undefined ? {} : { electionUrl }),
      ...(tls === undefined ? {} : { tls }),
    },
    cluster: {
      enabled: true,
      nodeId: name,
      heartbeatSeconds: timings.heartbeatMs / 1_000,
      leaderFenceTimeoutSeconds: timings.fenceMs / 1_000,
      leaderLeaseTtlSeconds: timings.ttlMs / 1_000,
      nodeTimeoutSeconds: timings.nodeTimeoutMs / 1_000,
      reclaimIntervalSeconds: 2,
    },
    shutdown: { drainTimeoutSeconds: 5 },
    api: { host: place.host, port: apiPort, publicUrl: place.url, insecureHttp: true },
    jobs: { maxAttempts: 1_000, backoff: "50ms" },
    crons: [{ name: "secondly", schedule: "* * * * * *", op: "tick", missed: "catch_up", catchUpMax: 1_000 }],
    alerting: { enabled: false },
    log: { level: "info" },
  };
}

/** What the service around that node binds. */
export function serviceOf({ host }: Place): { readonly host: string; readonly port: number } {
  return { host, port: servicePort };
}
