import type { TLSSocket } from "node:tls";
import type pg from "pg";
import type { Facts, Reach, ReachFailure } from "../../doctor/facts.js";
import { errorText } from "../../errors.js";
import { gatherCluster, gatherSchema } from "./diagnosis-schema.js";
import { gatherServer } from "./diagnosis-server.js";
import { GuardedClient } from "./guarded-client.js";
import { inspectPath, streamOf } from "./session.js";
import { sqlStateOf } from "./sql-errors.js";

export interface DiagnosisOptions {
  readonly connection: pg.ClientConfig;
  /** Null where elections go the same way. */
  readonly electionConnection: pg.ClientConfig | null;
  readonly schema: string;
  /** The newest migration that this code knows. */
  readonly codeVersion: number;
  /** Beyond this a commit is not waited for any longer. */
  readonly commitTimeoutMs: number;
}

const connectTimeoutMs = 5_000;
const questionTimeoutMs = 10_000;

/** Looks at the database without changing anything in it, and never longer than it takes to time out. */
export async function gatherFacts(options: DiagnosisOptions): Promise<Facts> {
  const election = options.electionConnection === null ? null : (await reachOnly(options.electionConnection)).reach;
  const { client, reach: main } = await open(options.connection);
  if (client === null) return { main, election, server: null, schema: null, cluster: null };
  try {
    const direct = main.kind === "reached" && main.path !== "pooled";
    if (direct) await setTimeouts(client);
    const schema = await gatherSchema(client, options.schema);
    const understood = (schema.oldestCode ?? 0) <= options.codeVersion;
    const cluster = understood ? await gatherCluster(client, options.schema, schema) : null;
    const server = await gatherServer(client, {
      direct,
      commitTimeoutMs: options.commitTimeoutMs,
      openAnother: () => open(options.connection).then((other) => other.client),
    });
    return { main, election, server, schema, cluster };
  } catch (error) {
    return { main: failure(error), election, server: null, schema: null, cluster: null };
  } finally {
    await close(client);
  }
}

async function reachOnly(connection: pg.ClientConfig): Promise<Opened> {
  const opened = await open(connection);
  if (opened.client !== null) await close(opened.client);
  return opened;
}

interface Opened {
  readonly client: pg.Client | null;
  readonly reach: Reach;
}

async function open(connection: pg.ClientConfig): Promise<Opened> {
  const client = new GuardedClient({
    ...connection,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: questionTimeoutMs,
    application_name: "holdfast maintenance",
  });
  // The question that is under way fails with it.
  client.on("error", () => undefined);
  try {
    await client.connect();
    return { client, reach: await describe(client) };
  } catch (error) {
    await close(client);
    return { client: null, reach: failure(error) };
  }
}

async function close(client: pg.Client): Promise<void> {
  const late = setTimeout(() => streamOf(client).destroy(), 1_000);
  await client.end().catch(() => streamOf(client).destroy());
  clearTimeout(late);
}

async function describe(client: pg.Client): Promise<Reach> {
  const { path } = await inspectPath(client);
  const { rows } = await client.query<{ user: string; recovering: boolean; oid: string; may: boolean }>(
    `select current_user as user, pg_is_in_recovery() as recovering, d.oid::text,
       has_function_privilege('pg_control_system()', 'execute') as may
     from pg_database d where d.datname = current_database()`,
  );
  const about = rows[0];
  const { rows: systems } =
    about?.may === true
      ? await client.query<{ system: string }>("select system_identifier::text as system from pg_control_system()")
      : { rows: [] };
  const stream = streamOf(client);
  const address = stream.remoteAddress?.replace(/^::ffff:/, "");
  return {
    kind: "reached",
    path,
    encrypted: (stream as Partial<TLSSocket>).encrypted === true,
    local: address === undefined || address === "::1" || address.startsWith("127."),
    user: about?.user ?? "",
    database: systems[0] === undefined ? null : `${systems[0].system}/${about?.oid}`,
    inRecovery: about?.recovering ?? false,
  };
}

/** A role's own timeouts must not cut the diagnosis short. Not through a pooler, where others would inherit these. */
async function setTimeouts(client: pg.Client): Promise<void> {
  await client.query(
    `select set_config(s.name, v.value, false)
     from (values ('statement_timeout', '${questionTimeoutMs}'), ('lock_timeout', '1000'), ('idle_session_timeout', '0'),
       ('transaction_timeout', '0'), ('idle_in_transaction_session_timeout', '0')) v(name, value)
     join pg_settings s using (name)`,
  );
}

const reasonOfState: Readonly<Record<string, ReachFailure>> = {
  "28P01": "password",
  "28000": "not_admitted",
  "42501": "not_admitted",
  "3D000": "no_database",
  "53300": "full",
  "57P03": "starting",
  "57P01": "starting",
  "57P02": "starting",
};

const networkCode = /^(ECONN|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOST|ENET|ENOENT|EPIPE)/;

function failure(error: unknown): Reach {
  // An address that resolves to several fails with all of their errors, and no message.
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  const said = errorText(first).replace(/[.\s]+$/, "");
  return { kind: "failed", reason: reasonOf(first, said), said };
}

function reasonOf(error: unknown, said: string): ReachFailure {
  const state = sqlStateOf(error);
  if (state !== null) return reasonOfState[state] ?? (state.startsWith("08") ? "away" : "other");
  const code = (error as { code?: string } | null)?.code ?? "";
  if (networkCode.test(code) || /timeout|terminated/i.test(said)) return "away";
  return /ssl|tls|certificate/i.test(`${said} ${code}`) ? "tls" : "other";
}
