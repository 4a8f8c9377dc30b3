import { isLoopback } from "./loopback.js";

/** What the settings need to know of a database URL. The rest, credentials above all, is the driver's. */
export interface DatabaseUrl {
  readonly host: string;
  readonly sslmode: string | null;
}

/** Null where it is no URL of PostgreSQL. */
export function parseDatabaseUrl(url: string): DatabaseUrl | null {
  if (!URL.canParse(url)) return null;
  const parsed = new URL(url);
  if (parsed.protocol !== "postgres:" && parsed.protocol !== "postgresql:") return null;
  const host = parsed.searchParams.get("host") ?? unescaped(parsed.hostname);
  return { host, sslmode: parsed.searchParams.get("sslmode") };
}

/** Whether the server is on this machine: a socket, or a loopback address. */
export function isLocalServer(host: string): boolean {
  return host === "" || host.startsWith("/") || isLoopback(host);
}

/** A socket's directory is written with %2F; what cannot be unescaped is no such thing. */
function unescaped(host: string): string {
  try {
    return decodeURIComponent(host);
  } catch {
    return host;
  }
}
