import { execFileSync } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { administratorEnv } from "./programs.js";

/** From what a node is cut off. */
export type CutFrom = "database" | "everything";

/**
 * Places for nodes on this machine, each with addresses of its own: what a node binds, and by which it reaches its database and its
 * receivers. So two nodes listen on the same port, as they would on two machines, and one of them can be cut off from the others.
 */
export interface Places extends Disposable {
  /** Where a node of this place listens, and where its receivers listen for it. */
  hostOf(place: number): string;
  /** The database as it is reached from there. */
  databaseUrl(place: number): string;
  /** Packets are dropped from now on, without a word to either side. */
  cut(place: number, from: CutFrom): void;
  mend(place: number): void;
}

/** Without a firewall the database has one address for all, and nobody can be cut off. */
export function openPlaces(databaseUrl: string, { firewall }: { readonly firewall: boolean }): Places {
  const prefix = `127.${randomInt(1, 255)}`;
  const base = randomInt(1, 200);
  const hostOf = (place: number): string => `${prefix}.${base + place}.1`;
  if (!firewall) {
    const impossible = (): never => {
      throw new Error("These places have no firewall.");
    };
    const nothing = (): void => undefined;
    return { hostOf, databaseUrl: () => databaseUrl, cut: impossible, mend: impossible, [Symbol.dispose]: nothing };
  }
  const { hostname, port } = new URL(databaseUrl);
  const databaseHost = (place: number): string => `${prefix}.${base + place}.2`;
  const everything = (place: number): string => `${prefix}.${base + place}.0/24`;
  const table = `holdfast_${randomBytes(6).toString("hex")}`;
  const nft = (...lines: readonly string[]) =>
    execFileSync("nft", ["-f", "-"], { env: administratorEnv, input: `${lines.join("\n")}\n` });
  nft(
    `table ip ${table} {`,
    "chain to_database {",
    "type nat hook output priority -100;",
    ...[1, 2].map((place) => `ip daddr ${databaseHost(place)} tcp dport ${port} dnat to ${hostname}`),
    "}",
    ...[1, 2].map((place) => `chain place_${place} { type filter hook output priority 0; }`),
    "}",
  );
  return {
    hostOf,
    databaseUrl(place) {
      const changed = new URL(databaseUrl);
      changed.host = `${databaseHost(place)}:${port}`;
      return changed.href;
    },
    cut(place, from) {
      const range = from === "database" ? databaseHost(place) : everything(place);
      // By where a connection was first made to: so its packets are lost both ways.
      nft(`add rule ip ${table} place_${place} ct original ip daddr ${range} drop`);
    },
    mend(place) {
      nft(`flush chain ip ${table} place_${place}`);
    },
    [Symbol.dispose]() {
      nft(`delete table ip ${table}`);
    },
  };
}
