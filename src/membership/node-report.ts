import { randomBytes } from "node:crypto";
import { isIP } from "node:net";
import { hostname, networkInterfaces } from "node:os";
import type { Config } from "../config/config.js";
import type { Incarnation, NodeId } from "../election/core/names.js";
import { version } from "../version.js";
import type { NodeReport } from "./node-row.js";

/** Who this process is, as it will say in the registry. `serves`: it listens where its settings say. */
export function reportOf(config: Config, options: { readonly serves: boolean } = { serves: false }): NodeReport {
  const { cluster, api } = config;
  const host = hostname();
  const generated = `${host}:${process.pid}:${randomBytes(4).toString("hex")}`;
  return {
    nodeId: (cluster.nodeId === "" ? generated : cluster.nodeId) as NodeId,
    incarnation: randomBytes(12).toString("hex") as Incarnation,
    status: "joining",
    hostname: host,
    pid: process.pid,
    ipAddress: options.serves ? addressOf(api.host) : outerAddress(),
    httpPort: options.serves && api.port > 0 ? api.port : null,
    grpcPort: null,
    url: api.publicUrl === "" ? null : api.publicUrl,
    version,
    roles: cluster.roles,
    workerCapabilities: cluster.capabilities,
    promotable: cluster.promotable,
    clustered: cluster.enabled,
  };
}

/** Where others find what listens on this host: an address of this machine, unless one was named. */
function addressOf(host: string): string | null {
  const everywhere = host === "0.0.0.0" || host === "::";
  if (host === "localhost") return "127.0.0.1";
  return isIP(host) !== 0 && !everywhere ? host : outerAddress();
}

function outerAddress(): string | null {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const outer = addresses.filter(({ internal }) => !internal);
  return (outer.find(({ family }) => family === "IPv4") ?? outer[0] ?? addresses[0])?.address ?? null;
}
