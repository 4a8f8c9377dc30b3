import { BlockList, isIP, isIPv4, isIPv6 } from "node:net";

/** What is nobody's public address: private, loopback, link-local (a cloud's metadata among them), reserved, multicast. */
const notPublic4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
];
/** Within 2000::/3, all the rest being closed: tunnels that carry an address of the other kind, and what is for documents. */
const notPublic6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];

const closed = listOf([...notPublic4, ...notPublic6]);
const global6 = listOf(["2000::/3"]);

/** Whether an address may be connected to; `host` is the name that it was found under, or the address itself. */
export type Reach = (host: string, address: string) => boolean;

/** Only what is public, and what is allowed by name, address or network. */
export function reachOf(allow: readonly string[]): Reach {
  const networks = allow.filter((item) => item.includes("/") || isIP(item) !== 0);
  const names = new Set(allow.filter((item) => !networks.includes(item)));
  const allowed = listOf(networks);
  return (host, given) => {
    const address = plainAddress(given);
    if (names.has(host.toLowerCase()) || isIn(allowed, address)) return true;
    if (isIPv4(address)) return !isIn(closed, address);
    return isIPv6(address) && isIn(global6, address) && !isIn(closed, address);
  };
}

export const everywhere: Reach = () => true;

/** An address of IPv4 in the clothes of one of IPv6 is what it is. */
function plainAddress(address: string): string {
  const [bare = ""] = address.replace(/^\[|\]$/g, "").split("%");
  const dotted = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)?.[1];
  if (dotted !== undefined) return dotted;
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/i.exec(bare) ?? [];
  if (high === undefined || low === undefined) return bare;
  const bytes = [high, low].flatMap((part) => {
    const word = Number.parseInt(part, 16);
    return [word >> 8, word & 255];
  });
  return bytes.join(".");
}

function isIn(list: BlockList, address: string): boolean {
  return isIP(address) !== 0 && list.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", bits] = network.split("/");
    const family = isIPv6(address) ? "ipv6" : "ipv4";
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}
