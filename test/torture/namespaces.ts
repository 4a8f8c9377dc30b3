import { execFileSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { administratorEnv } from "../support/programs.js";
import { isAlive } from "./left-over.js";
import type { Host, Network, Peer, Way } from "./network.js";

const prefix = "holdfast";
const link = "eth0";

/** Whether this process may make networks of its own. */
export function mayMakeNamespaces(): boolean {
  const trial = `${prefix}-${process.pid}-trial`;
  try {
    system("ip", "netns", "add", trial);
    system("ip", "netns", "delete", trial);
    return true;
  } catch {
    return false;
  }
}

/**
 * Each host is a network namespace of its own, tied by a cable to a bridge at which the orchestrator is: so a host that is cut off is
 * cut off from all, the kernel of nobody answers for it, and the address of the database moves as between two machines.
 */
export function openNamespaces(): Network {
  removeLeftOver();
  const subnet = freeSubnet();
  const run = `${prefix}-${process.pid}`;
  const bridge = `hf${process.pid}`;
  const outside = `${subnet}.1`;
  const shared = `${subnet}.100`;
  const hosts: Host[] = [];
  let holder: Host | null = null;
  const within = (host: Host, ...command: readonly string[]): void => system(...host.enter(command));

  system("ip", "link", "add", bridge, "type", "bridge");
  system("ip", "link", "set", bridge, "up");
  system("ip", "address", "add", `${outside}/24`, "dev", bridge);
  return {
    kind: "namespaces",
    outside,
    shared,
    addHost(name) {
      const namespace = `${run}-${name}`;
      const cable = `${bridge}-${hosts.length}`;
      const host: Host = {
        name,
        address: `${subnet}.${10 + hosts.length}`,
        enter: (command) => ["nsenter", `--net=/run/netns/${namespace}`, "--", ...command],
      };
      system("ip", "netns", "add", namespace);
      hosts.push(host);
      system("ip", "link", "add", cable, "type", "veth", "peer", "name", link, "netns", namespace);
      system("ip", "link", "set", cable, "master", bridge, "up");
      within(host, "ip", "address", "add", `${host.address}/24`, "dev", link);
      within(host, "ip", "link", "set", link, "up");
      within(host, "ip", "link", "set", "lo", "up");
      nft(
        host,
        "table ip torture {",
        "chain outgoing { type filter hook output priority 0; }",
        "chain incoming { type filter hook input priority 0; }",
        "}",
      );
      return host;
    },
    moveShared(host) {
      if (holder !== null) within(holder, "ip", "address", "delete", `${shared}/24`, "dev", link);
      holder = host;
      if (host === null) return;
      within(host, "ip", "address", "add", `${shared}/24`, "dev", link);
      // A machine that takes an address over tells it to all. Nothing here does, so all forget who had it.
      system("ip", "neighbour", "flush", "to", shared);
      for (const other of hosts) within(other, "ip", "neighbour", "flush", "to", shared);
    },
    cut(host, way, peer) {
      nft(host, ...rulesOf(way, peer));
    },
    mend(host) {
      nft(host, "flush chain ip torture outgoing", "flush chain ip torture incoming");
    },
    [Symbol.dispose]() {
      for (const { name } of hosts) quietly("ip", "netns", "delete", `${run}-${name}`);
      quietly("ip", "link", "delete", bridge);
    },
  };
}

/** Loopback within the host stays: a node that is cut off still reaches itself. */
function rulesOf(way: Way, peer: Peer | undefined): readonly string[] {
  const to = peer === undefined ? `oifname ${link}` : `ip daddr ${peer.address} tcp dport ${peer.port}`;
  const from = peer === undefined ? `iifname ${link}` : `ip saddr ${peer.address} tcp sport ${peer.port}`;
  return [
    ...(way === "from" ? [] : [`add rule ip torture outgoing ${to} drop`]),
    ...(way === "to" ? [] : [`add rule ip torture incoming ${from} drop`]),
  ];
}

/** What a run that was killed left behind; its processes went with it. */
function removeLeftOver(): void {
  const lines = execFileSync("ip", ["netns", "list"], { env: administratorEnv, encoding: "utf8" }).split("\n");
  for (const line of lines) {
    const [, pid] = new RegExp(`^(${prefix}-(\\d+)-\\w+)`).exec(line)?.slice(1) ?? [];
    if (pid === undefined || isAlive(Number(pid))) continue;
    quietly("ip", "netns", "delete", line.split(" ")[0] ?? "");
    quietly("ip", "link", "delete", `hf${pid}`);
  }
}

function freeSubnet(): string {
  const taken = execFileSync("ip", ["-o", "address"], { env: administratorEnv, encoding: "utf8" });
  for (;;) {
    const subnet = `10.${randomInt(200, 255)}.${randomInt(0, 256)}`;
    if (!taken.includes(` ${subnet}.`)) return subnet;
  }
}

function nft(host: Host, ...lines: readonly string[]): void {
  const [program = "", ...args] = host.enter(["nft", "-f", "-"]);
  execFileSync(program, args, { env: administratorEnv, input: `${lines.join("\n")}\n` });
}

function system(...command: readonly string[]): void {
  const [program = "", ...args] = command;
  execFileSync(program, args, { env: administratorEnv, stdio: ["ignore", "ignore", "pipe"] });
}

/** In clean-up one failure must not keep the rest from being removed. */
function quietly(...command: readonly string[]): void {
  try {
    system(...command);
  } catch (error) {
    process.stderr.write(`${command.join(" ")}: ${(error as Error).message}\n`);
  }
}
