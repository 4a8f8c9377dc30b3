import type { Socket } from "node:net";

/** The far end of a socket, as a person writes it. */
export function peerOf({ remoteAddress = "?", remotePort = 0 }: Socket): string {
  const address = remoteAddress.replace(/^::ffff:(?=\d+\.)/, "");
  return address.includes(":") ? `[${address}]:${remotePort}` : `${address}:${remotePort}`;
}
