import { execFileSync } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { administratorEnv } from "./programs.js";

/**
 * A second address of a server on this machine, whose packets go through a firewall of the test's own. The server sees a
 * client that comes this way with its true address and port, so the way is a direct one.
 */
export interface Firewall extends Disposable {
  through(url: string): string;
  /**
   * From now on whatever the server sends to clients that come this way is answered with a reset, in the client's name. The
   * server's side of each connection ends as soon as it sends something; the client's side hears nothing at all.
   */
  resetAtServer(): void;
}

export function startFirewall(serverUrl: string): Firewall {
  const { hostname, port } = new URL(serverUrl);
  const address = `127.${randomInt(1, 255)}.${randomInt(1, 255)}.${randomInt(2, 255)}`;
  const table = `holdfast_${randomBytes(6).toString("hex")}`;
  const nft = (...lines: readonly string[]) =>
    execFileSync("nft", ["-f", "-"], { env: administratorEnv, input: `${lines.join("\n")}\n` });
  nft(
    `table ip ${table} {`,
    "chain to_server {",
    "type nat hook output priority -100;",
    `ip daddr ${address} tcp dport ${port} dnat to ${hostname}`,
    "}",
    "chain to_client {",
    "type filter hook output priority 0;",
    "}",
    "}",
  );
  return {
    through(url) {
      const changed = new URL(url);
      changed.host = `${address}:${port}`;
      return changed.href;
    },
    resetAtServer() {
      nft(`add rule ip ${table} to_client ct original ip daddr ${address} tcp sport ${port} reject with tcp reset`);
    },
    [Symbol.dispose]() {
      nft(`delete table ip ${table}`);
    },
  };
}
