import { isIPv4 } from "node:net";

/** Whether an address leads to this machine only. A name that merely starts like one does not. */
export function isLoopback(host: string): boolean {
  const address = host.replace(/^\[(.*)\]$/, "$1").toLowerCase();
  if (address === "localhost" || address === "::1") return true;
  const v4 = address.replace(/^::ffff:/, "");
  return isIPv4(v4) && v4.startsWith("127.");
}
