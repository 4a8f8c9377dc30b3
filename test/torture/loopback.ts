import { randomInt } from "node:crypto";
import type { Host, Network } from "./network.js";

/** Without the right to make networks: addresses of this machine, between which no packet can be lost. */
export function openLoopback(): Network {
  const subnet = `127.${randomInt(1, 255)}.${randomInt(0, 256)}`;
  let made = 0;
  const impossible = (): never => {
    throw new Error("Nobody can be cut off on loopback.");
  };
  return {
    kind: "loopback",
    outside: `${subnet}.1`,
    shared: `${subnet}.100`,
    addHost(name): Host {
      made += 1;
      return { name, address: `${subnet}.${10 + made}`, enter: (command) => command };
    },
    // Every address is on this machine already: a server takes the shared one by listening there.
    moveShared: () => undefined,
    cut: impossible,
    mend: impossible,
    [Symbol.dispose]: () => undefined,
  };
}
