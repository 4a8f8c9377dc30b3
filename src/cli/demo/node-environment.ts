import { environmentName } from "../../config/environment-name.js";
import { loopback } from "./ports.js";

export interface NodePlace {
  readonly id: string;
  readonly port: number;
}

export interface DatabasePlace {
  readonly url: string;
  /** Ours, and not a server of the user's: then no variable of theirs may steer the connection. */
  readonly embedded: boolean;
}

export function urlOf({ port }: NodePlace): string {
  return `http://${loopback}:${port}`;
}

/** Beside anything else that a server of the user's own may hold. */
const names = { schema: "holdfast_demo", cluster: "demo" };

const drainSeconds = 5;

/**
 * What a node of the demo sees: the user's environment without any setting of Holdfast's in it, which are meant for their own
 * nodes, and with those of the demo. The database's password travels here, because every user can read a command line.
 */
export function nodeEnvironment(
  inherited: Readonly<Record<string, string | undefined>>,
  node: NodePlace,
  database: DatabasePlace,
): Record<string, string> {
  const foreign = database.embedded ? /^(HOLDFAST_|PG[A-Z])/ : /^HOLDFAST_/;
  const kept = Object.entries(inherited).flatMap(([name, value]) =>
    value === undefined || foreign.test(name) ? [] : [[name, value] as const],
  );
  const settings: Readonly<Record<string, string | number | boolean>> = {
    "store.url": database.url,
    "store.schema": names.schema,
    "cluster.enabled": true,
    "cluster.name": names.cluster,
    "cluster.node_id": node.id,
    "api.host": loopback,
    "api.port": node.port,
    "api.public_url": urlOf(node),
    "shutdown.drain_timeout_seconds": drainSeconds,
    "log.format": "json",
  };
  const ours = Object.entries(settings).map(([path, value]) => [environmentName(path), String(value)] as const);
  return Object.fromEntries([...kept, ...ours]);
}
