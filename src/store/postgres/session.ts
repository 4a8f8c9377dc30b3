import { isIP, type Socket } from "node:net";
import type pg from "pg";
import type { SessionPath } from "../../election/core/elector-state.js";
import type { SessionRef } from "../../election/core/names.js";
import type { Timing } from "../../election/core/timing.js";
import type { SessionEvents } from "../contract.js";
import { GuardedClient } from "./guarded-client.js";
import { sqlState, sqlStateOf, toHoldfastError } from "./sql-errors.js";

/** One connection of its own for elections, never from a pool: its locks, and its end, must mean something. */
export interface ElectionClient {
  readonly ref: SessionRef | null;
  readonly path: SessionPath;
  readonly pid: number;
  query<Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  onNotification(listener: (payload: string) => void): void;
  /** The session is set up: from here on its requests have deadlines of their own. */
  ready(): void;
  close(): void;
}

export interface SessionOptions {
  readonly connection: pg.ClientConfig;
  readonly schema: string;
  readonly purpose: "lock" | "witness" | "campaign";
  readonly nodeId: string;
  readonly incarnation: string;
  readonly timing: Timing;
}

/**
 * What the server shows of a session. The incarnation lets a successor end everything that a frozen process still has;
 * PostgreSQL cuts the name at 63 bytes, so it comes before the node's id.
 */
export function applicationName(purpose: string, incarnation: string, nodeId: string): string {
  return `holdfast ${purpose} ${incarnation} ${nodeId}`.slice(0, 63);
}

export async function openElectionClient(options: SessionOptions, events: SessionEvents): Promise<ElectionClient> {
  const connectTimeoutMs = Math.max(options.timing.requestTimeoutMs, 1_000);
  const client = new GuardedClient({
    ...options.connection,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    // Requests of an election have deadlines of their own; a user's pool may bring shorter ones.
    query_timeout: 0,
    pipeline: false,
  });
  // A server that falls silent in the middle of the set-up would otherwise be waited for for ever.
  const late = setTimeout(() => destroy(client), 2 * connectTimeoutMs);
  let ended = false;
  let opened = false;
  const end = (reason: string): void => {
    if (ended) return;
    ended = true;
    if (opened) events.closed(reason);
  };
  client.on("error", (error) => end(error.message));
  client.on("end", () => end("the connection ended"));
  try {
    await client.connect();
    const found = await inspectPath(client);
    if (found.path !== "pooled") await configure(client, options);
    if (ended) throw new Error("the connection ended while it was being set up");
    opened = true;
    return wrap(
      client,
      found,
      () => clearTimeout(late),
      () => {
        ended = true;
      },
    );
  } catch (error) {
    ended = true;
    clearTimeout(late);
    destroy(client);
    throw toHoldfastError(error, `opening the ${options.purpose} session`);
  }
}

function wrap(client: pg.Client, found: Found, ready: () => void, markEnded: () => void): ElectionClient {
  let active = 0;
  let last: Promise<unknown> = Promise.resolve();
  const names = new Map<string, string>();
  /** The same few statements for a lifetime are prepared once; a pooler would hand them to a session that has none. */
  const nameOf = (text: string): string => {
    const name = names.get(text) ?? `holdfast_${names.size + 1}`;
    names.set(text, name);
    return name;
  };
  return {
    ref: found.ref,
    path: found.path,
    pid: found.pid,
    async query<Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
      active += 1;
      const query = { text, values: [...values] };
      const prepared = found.path === "pooled" || values.length === 0 ? query : { ...query, name: nameOf(text) };
      // One at a time: a release may be asked for while a beat is under way.
      const sent = last.then(() => client.query<Row>(prepared));
      last = sent.catch(() => undefined);
      try {
        return (await sent).rows;
      } finally {
        active -= 1;
      }
    },
    onNotification(listener) {
      client.on("notification", (message) => listener(message.payload ?? ""));
    },
    ready,
    close() {
      ready();
      markEnded();
      // A busy session is cut off; an idle one says goodbye, so that the server does not call it abandoned.
      if (active > 0) destroy(client);
      else client.end().catch(() => destroy(client));
    },
  };
}

export const streamOf = (client: pg.ClientBase): Socket =>
  (client as unknown as { connection: { stream: Socket } }).connection.stream;

function destroy(client: pg.Client): void {
  streamOf(client).destroy();
}

interface Found {
  readonly path: SessionPath;
  readonly ref: SessionRef | null;
  readonly pid: number;
}

/** How many sessions this process has opened: of two of them, the number tells which is later, where no clock does. */
let opened = 0;

/**
 * R11: a session is direct only if the process that the protocol named at the start is the one that answers, and the
 * server sees the very address and port that this socket has. Comparing process ids over transactions misses an idle
 * PgBouncer, which gives the same one each time.
 */
export async function inspectPath(client: pg.Client): Promise<Found> {
  const { rows } = await client.query<{ pid: number; ref: string; address: string | null; port: number | null }>(
    `select a.pid, a.pid || '@' || (extract(epoch from a.backend_start) * 1000000)::bigint as ref,
       host(inet_client_addr()) as address, inet_client_port() as port
     from pg_stat_get_activity(pg_backend_pid()) a`,
  );
  const row = rows[0];
  const announced = (client as unknown as { processID: number | null }).processID;
  if (row === undefined || announced !== row.pid) return { path: "pooled", ref: null, pid: row?.pid ?? 0 };
  const ref = `${row.ref}#${++opened}` as SessionRef;
  const { localAddress, localPort } = streamOf(client);
  const sameSocket = row.address === null || (row.port === localPort && sameAddress(row.address, localAddress));
  return { path: sameSocket ? "direct" : "proxied", ref, pid: row.pid };
}

function sameAddress(seenByServer: string, local: string | undefined): boolean {
  if (local === undefined) return false;
  const plain = (address: string): string => address.replace(/^::ffff:/i, "").replace(/%.*$/, "");
  return isIP(plain(local)) !== 0 && plain(seenByServer) === plain(local);
}

/**
 * The session sets everything itself that a role's, a database's or the server's setting could bend (R2). Keep-alive must
 * not drop a cut-off leader before its trust has run out, or the drop would look like a crash (R6); and a backend that is
 * busy must notice soon that its client is gone.
 */
async function configure(client: pg.Client, options: SessionOptions): Promise<void> {
  const { timing } = options;
  const longestMs =
    options.purpose === "campaign" ? timing.heirSliceMs + timing.requestTimeoutMs : timing.requestTimeoutMs;
  const dropAfterSeconds = Math.ceil(timing.ttlMs / 1000);
  const settings: Record<string, string> = {
    application_name: applicationName(options.purpose, options.incarnation, options.nodeId),
    search_path: "pg_catalog",
    default_transaction_isolation: "read committed",
    default_transaction_read_only: "off",
    default_transaction_deferrable: "off",
    statement_timeout: `${Math.ceil(longestMs)}`,
    lock_timeout: "0",
    idle_in_transaction_session_timeout: `${Math.ceil(timing.ttlMs)}`,
    idle_session_timeout: "0",
    transaction_timeout: "0",
    tcp_keepalives_idle: `${dropAfterSeconds}`,
    tcp_keepalives_interval: `${Math.max(1, Math.ceil(dropAfterSeconds / 2))}`,
    tcp_keepalives_count: "3",
    tcp_user_timeout: `${dropAfterSeconds * 2_000}`,
    log_lock_waits: "off",
  };
  await apply(client, settings);
  await apply(client, { client_connection_check_interval: "100" }).catch((error: unknown) => {
    // Some platforms of the server cannot watch a socket: a crash is then noticed later, and nothing else is lost.
    if (sqlStateOf(error) !== sqlState.invalidParameterValue) throw error;
  });
}

/** Settings that this version does not know, or this role may not change, are left as they are. */
async function apply(client: pg.Client, settings: Record<string, string>): Promise<void> {
  await client.query(
    `select set_config(s.name, v.value, false)
     from jsonb_each_text($1) v(name, value) join pg_settings s using (name)
     where s.context = 'user' or (s.context = 'superuser' and current_setting('is_superuser') = 'on')`,
    [JSON.stringify(settings)],
  );
}
