import { hostname } from "node:os";
import { mayFollow } from "../access/token-travel.js";
import { isLoopback } from "../config/loopback.js";
import { publicUrlOf } from "../config/serving.js";
import { HoldfastError, isFailure } from "../errors.js";
import { fromDatabase } from "./database-wait.js";
import type { Limits } from "./limits.js";
import { isOpenDoor } from "./open-door.js";
import type { ServedNode } from "./served-node.js";

/**
 * Where a node that leads is reached: at the address that it has itself put into the registry, and nowhere else. What a caller
 * says has no part in it.
 */
export async function addressOf(node: ServedNode, limits: Limits, leaderId: string): Promise<URL> {
  const { url, status } = await fromDatabase(limits.databaseWaitMs, node.cluster.node(leaderId)).catch(gone(leaderId));
  if (status === "dead" || status === "left") throw away(leaderId, status === "dead" ? "is dead" : "has left");
  if (url === null || !/^https?:/.test(url) || !URL.canParse(url)) throw away(leaderId, "has told no address");
  const address = new URL(url);
  if (!mayTravel(node, address)) {
    throw new HoldfastError(
      "REFUSED",
      `Node "${leaderId}" leads, and is reached at ${address.origin}, where a token could be read on its way: ask it yourself.`,
    );
  }
  return address;
}

/** The caller's token goes along: encrypted, within this machine, or where the network is said to encrypt. */
function mayTravel(node: ServedNode, address: URL): boolean {
  const { config } = node;
  const isWithin = isLoopback(address.hostname);
  if (isOpenDoor(node)) return isWithin;
  if (address.protocol === "https:" || mayFollow(publicUrlOf(config, hostname()), address.href)) return true;
  return config.api.insecureHttp && !isWithin;
}

function gone(leaderId: string): (error: unknown) => never {
  return (error) => {
    if (isFailure(error, "UNKNOWN_NODE")) throw away(leaderId, "is not in the registry");
    throw error;
  };
}

function away(leaderId: string, why: string): HoldfastError {
  return new HoldfastError("NODE_AWAY", `Node "${leaderId}" leads, and ${why}: try again in a moment.`);
}
