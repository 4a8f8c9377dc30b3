import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { Config } from "../config/config.js";
import type { Incarnation, NodeId } from "../election/core/names.js";
import { version } from "../version.js";
import type { NodeReport } from "./node-row.js";

/** Who this process is, as it will say in the registry. */
export function reportOf(config: Config): NodeReport {
  const host = hostname();
  const generated = `${host}:${process.pid}:${randomBytes(4).toString("hex")}`;
  return {
    nodeId: (config.cluster.nodeId === "" ? generated : config.cluster.nodeId) as NodeId,
    incarnation: randomBytes(12).toString("hex") as Incarnation,
    status: "joining",
    hostname: host,
    pid: process.pid,
    url: config.api.publicUrl === "" ? null : config.api.publicUrl,
    version,
    roles: config.cluster.roles,
    promotable: config.cluster.promotable,
    clustered: config.cluster.enabled,
  };
}
