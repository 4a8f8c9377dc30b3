import { readFileSync } from "node:fs";
import type pg from "pg";
import type { Config } from "../../config/config.js";
import { HoldfastError } from "../../errors.js";

/** How to reach the database, from the settings: a URL or its parts, and TLS by where the server is. */
export function connectionOf(config: Config, url: string): pg.ClientConfig {
  const { store } = config;
  const base: pg.ClientConfig =
    url !== ""
      ? { connectionString: url }
      : { host: store.server, port: store.port, database: store.database, user: store.username };
  if (store.password !== "") base.password = store.password;
  const ssl = tlsOf(config, url);
  return ssl === null ? base : { ...base, ssl };
}

/** Null leaves it to an `sslmode` in the URL. */
function tlsOf(config: Config, url: string): pg.ClientConfig["ssl"] | null {
  const { store } = config;
  const host = url === "" ? store.server : hostOf(url);
  const local =
    host === "" || host.startsWith("/") || host === "localhost" || host === "::1" || host.startsWith("127.");
  const unencrypted = config.statedTls ? store.tls === "disable" : /sslmode=(disable|allow|prefer)/.test(url);
  if (unencrypted && !local) {
    throw new HoldfastError(
      "BAD_SETTINGS",
      `store.tls = "disable", or sslmode=disable, is for a server on this machine, not for "${host}": use "verify-full" or "require".`,
    );
  }
  if (!config.statedTls) {
    if (url.includes("sslmode=")) return null;
    if (local) return false;
  }
  if (store.tls === "disable") return false;
  const ca = store.tlsCa === "" ? {} : { ca: readFileSync(store.tlsCa, "utf8") };
  return { ...ca, rejectUnauthorized: store.tls === "verify-full" };
}

function hostOf(url: string): string {
  try {
    const parsed = new URL(url);
    return (parsed.searchParams.get("host") ?? parsed.hostname).replace(/^\[|\]$/g, "");
  } catch {
    throw new HoldfastError("BAD_SETTINGS", "store.url is not a URL like postgres://user@host:5432/database.");
  }
}

/** How a user's pool reaches the database. The driver hides secrets from enumeration, so they are named. */
export function connectionOfPool(pool: pg.Pool): pg.ClientConfig {
  const { password, ssl } = pool.options;
  return { ...pool.options, ...(password === undefined ? {} : { password }), ...(ssl === undefined ? {} : { ssl }) };
}
