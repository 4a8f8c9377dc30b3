import { readFileSync } from "node:fs";
import type pg from "pg";
import { parseIntoClientConfig } from "pg-connection-string";
import type { Config } from "../../config/config.js";
import { isLocalServer, parseDatabaseUrl } from "../../config/database-url.js";
import { HoldfastError } from "../../errors.js";

/**
 * How to reach the database, from the settings: a URL or its parts, and TLS by where the server is. The URL is taken apart
 * here: the driver would let it overrule a password and TLS that are stated beside it.
 */
export function connectionOf(config: Config, url: string): pg.ClientConfig {
  const { store } = config;
  const base: pg.ClientConfig =
    url !== ""
      ? { ...parseIntoClientConfig(url) }
      : { host: store.server, port: store.port, database: store.database, user: store.username };
  if (!store.password.isEmpty) base.password = store.password.reveal();
  const ssl = tlsOf(config, url);
  const connection = ssl === null ? base : { ...base, ssl };
  refuseClearText(connection);
  // Named here, or the driver would take it from a variable of the environment.
  return { ...connection, host: connection.host || "localhost" };
}

/** The settings were checked before; but what counts is what the driver makes of them. */
function refuseClearText({ host = "", ssl }: pg.ClientConfig): void {
  if (isLocalServer(host) || (ssl !== undefined && ssl !== false)) return;
  throw new HoldfastError(
    "BAD_SETTINGS",
    `Nothing says that the connection to "${host}" is to be encrypted: set store.tls, or one sslmode in the URL.`,
  );
}

/** Null leaves it to an `sslmode` in the URL. That nothing goes unencrypted over a network was checked with the settings. */
function tlsOf(config: Config, url: string): pg.ClientConfig["ssl"] | null {
  const { store } = config;
  const { host, sslmode } = parseDatabaseUrl(url) ?? { host: store.server, sslmode: null };
  if (!config.statedTls) {
    if (sslmode !== null) return null;
    if (isLocalServer(host)) return false;
  }
  if (store.tls === "disable") return false;
  const ca = store.tlsCa === "" ? {} : { ca: readAuthority(store.tlsCa) };
  return { ...ca, rejectUnauthorized: store.tls === "verify-full" };
}

function readAuthority(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new HoldfastError("BAD_SETTINGS", `store.tls_ca ("${file}") cannot be read.`, { cause: error });
  }
}

/** How a user's pool reaches the database. The driver hides secrets from enumeration, so they are named. */
export function connectionOfPool(pool: pg.Pool): pg.ClientConfig {
  const { password, ssl } = pool.options;
  return { ...pool.options, ...(password === undefined ? {} : { password }), ...(ssl === undefined ? {} : { ssl }) };
}
