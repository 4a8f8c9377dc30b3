import type { ClientBase } from "pg";
import pg from "pg";
import { HoldfastError } from "../../errors.js";

/**
 * What the roles of the database may do in the schema. There are three: whoever migrates owns it; a node reads and writes
 * rows; a reader sees who leads, who is here and what happened. Who was granted what is kept in `grants`, so that a
 * migration which adds a table also grants it.
 */
export type GrantKind = "node" | "reader";

export interface GrantReport {
  readonly role: string;
  readonly kind: GrantKind;
  /** What the role still lacks and only an administrator can give, a statement each. */
  readonly advice: readonly string[];
}

type Privilege = "select" | "insert" | "update" | "delete";

interface Rights {
  readonly node: readonly Privilege[];
  readonly reader: readonly Privilege[];
}

const ownersOnly: Rights = { node: [], reader: [] };

/** Every table and view of the schema: what its functions do to it, and nothing more. A test compares it with the schema. */
export const rightsOn: Readonly<Record<string, Rights>> = {
  migrations: { node: ["select"], reader: ["select"] },
  grants: ownersOnly,
  meta: { node: ["select", "insert", "update"], reader: [] },
  leases: { node: ["select", "insert", "update"], reader: [] },
  nodes: { node: ["select", "insert", "update", "delete"], reader: [] },
  history: { node: ["select", "insert", "delete"], reader: ["select"] },
  requests: { node: ["select", "insert", "update", "delete"], reader: [] },
  tokens: { node: ["select", "insert", "update"], reader: [] },
  audit: { node: ["select", "insert"], reader: [] },
  snapshots: { node: ["select", "insert", "update", "delete"], reader: [] },
  queues: { node: ["select", "insert"], reader: [] },
  // Segments are opened and dropped by functions that run as the owner; what is in them is reached through `messages`.
  queue_segments: { node: ["select"], reader: [] },
  lanes: { node: ["select", "insert", "update"], reader: [] },
  messages: { node: ["select", "insert"], reader: [] },
  message_keys: { node: ["select", "insert", "update"], reader: [] },
  dead_letters: { node: ["select", "insert", "update"], reader: [] },
  // Its row is locked by whoever writes events, which takes the right to update.
  event_stream: { node: ["select", "update"], reader: [] },
  events: { node: ["select", "insert", "delete"], reader: [] },
  job_demands: { node: ["select", "insert", "delete"], reader: [] },
  jobs: { node: ["select", "insert", "update", "delete"], reader: [] },
  job_leases: { node: ["select", "insert", "update", "delete"], reader: [] },
  job_totals: { node: ["select", "update"], reader: [] },
  agents: { node: ["select", "insert", "update", "delete"], reader: [] },
  crons: { node: ["select", "insert", "update"], reader: [] },
  worker_orders: { node: ["select", "insert", "update", "delete"], reader: [] },
  cron_ticks: { node: ["select", "insert", "delete"], reader: [] },
  // Partitions are opened and dropped by functions that run as the owner, as segments are.
  engine_partitions: { node: ["select"], reader: [] },
  engine_messages: { node: ["select", "insert"], reader: [] },
  engine_steps: { node: ["select", "insert"], reader: [] },
  engine_words: { node: ["select", "insert"], reader: [] },
  engine_word_runs: { node: ["select", "insert"], reader: [] },
  engine_namespaces: { node: ["select", "insert", "update"], reader: [] },
  engine_state: { node: ["select", "insert", "update"], reader: [] },
  engine_references: { node: ["select", "insert", "update"], reader: [] },
  engine_reference_chunks: { node: ["select", "insert", "delete"], reader: [] },
  engine_reference_failures: { node: ["select", "insert", "update", "delete"], reader: [] },
  engine_connections: { node: ["select", "insert", "update", "delete"], reader: [] },
  metric_processes: { node: ["select", "insert", "update", "delete"], reader: [] },
  metric_points: { node: ["select", "insert", "delete"], reader: [] },
  alert_rounds: { node: ["select", "update"], reader: [] },
  alert_samples: { node: ["select", "insert", "delete"], reader: [] },
  alerts: { node: ["select", "insert", "update", "delete"], reader: [] },
  alert_notifications: { node: ["select", "insert", "update", "delete"], reader: [] },
  // Written by functions that run as the owner, so that no client can reach it.
  fenced_writes: ownersOnly,
  leaders: { node: ["select"], reader: ["select"] },
  members: { node: ["select"], reader: ["select"] },
};

/** Every sequence that is not a column's own. */
export const nodeSequences: readonly string[] = ["epoch_changes"];

/** Every function that not everybody who sees the schema may call. */
const nodeFunctions: readonly string[] = [
  "open_segment",
  "drop_segments",
  "number_jobs",
  "open_engine_partition",
  "drop_engine_partition",
  "forget_audit",
];

/** Grants in one transaction, and remembers it. The schema must be at this code's version. */
export async function grant(
  client: ClientBase,
  schema: string,
  to: { readonly role: string; readonly kind: GrantKind },
): Promise<GrantReport> {
  await refuseUnlessOwner(client, schema, to.role);
  await client.query("begin");
  try {
    await client.query("select pg_advisory_xact_lock(hashtextextended('holdfast migrate ' || $1, 0))", [schema]);
    const table = `${pg.escapeIdentifier(schema)}.grants`;
    await client.query(`create table if not exists ${table} (
      grantee text primary key,
      kind text not null check (kind in ('node', 'reader')),
      granted_at timestamptz not null default clock_timestamp()
    )`);
    await client.query(
      `insert into ${table} (grantee, kind) values ($1, $2)
       on conflict (grantee) do update set kind = excluded.kind, granted_at = clock_timestamp()`,
      [to.role, to.kind],
    );
    await apply(client, schema, to);
    await client.query("commit");
  } catch (error) {
    await client.query("rollback");
    throw error;
  }
  return { ...to, advice: await adviceFor(client, to.role) };
}

/** After a migration, in its transaction: what was granted once holds for what is new. A role that is gone is forgotten. */
export async function grantAgain(client: ClientBase, schema: string): Promise<void> {
  const table = `${pg.escapeIdentifier(schema)}.grants`;
  const { rows: known } = await client.query<{ there: boolean }>("select to_regclass($1) is not null as there", [
    table,
  ]);
  if (known[0]?.there !== true) return;
  await client.query(`delete from ${table} where not exists (select from pg_roles where rolname = grantee)`);
  const { rows } = await client.query<{ grantee: string; kind: GrantKind }>(`select grantee, kind from ${table}`);
  for (const { grantee, kind } of rows) await apply(client, schema, { role: grantee, kind });
}

async function apply(
  client: ClientBase,
  schema: string,
  { role, kind }: { readonly role: string; readonly kind: GrantKind },
): Promise<void> {
  const quoted = pg.escapeIdentifier(schema);
  const grantee = pg.escapeIdentifier(role);
  // First away with whatever it had: a node may become a reader, and a release may need less than the one before.
  await client.query(`revoke all on all tables in schema ${quoted} from ${grantee}`);
  await client.query(`revoke all on all sequences in schema ${quoted} from ${grantee}`);
  await client.query(`revoke all on all functions in schema ${quoted} from ${grantee}`);
  await client.query(`revoke all on schema ${quoted} from ${grantee}`);
  await client.query(`grant usage on schema ${quoted} to ${grantee}`);
  for (const [relation, rights] of Object.entries(rightsOn)) {
    if (rights[kind].length === 0) continue;
    await client.query(`grant ${rights[kind].join(", ")} on ${quoted}.${pg.escapeIdentifier(relation)} to ${grantee}`);
  }
  if (kind !== "node") return;
  for (const sequence of nodeSequences) {
    await client.query(`grant usage on sequence ${quoted}.${pg.escapeIdentifier(sequence)} to ${grantee}`);
  }
  for (const name of nodeFunctions) {
    await client.query(`grant execute on function ${quoted}.${pg.escapeIdentifier(name)} to ${grantee}`);
  }
}

/** GRANT by somebody who may not only warns, so this looks first. */
async function refuseUnlessOwner(client: ClientBase, schema: string, role: string): Promise<void> {
  const { rows } = await client.query<{ me: string; owner: string; mine: boolean; known: boolean }>(
    `select current_user as me, pg_get_userbyid(nspowner) as owner, pg_has_role(nspowner, 'usage') as mine,
       exists (select from pg_roles where rolname = $2) as known
     from pg_namespace where nspname = $1`,
    [schema, role],
  );
  const found = rows[0];
  if (found === undefined) throw new HoldfastError("SCHEMA_TOO_OLD", `There is no schema "${schema}": migrate first.`);
  if (!found.known) {
    const create = `CREATE ROLE ${pg.escapeIdentifier(role)} LOGIN PASSWORD '...';`;
    const way = role === "public" ? "name a role of its own" : `create it first, as an administrator: ${create}`;
    throw new HoldfastError("NOT_FOUND", `There is no database role "${role}": ${way}`);
  }
  if (!found.mine) {
    throw new HoldfastError(
      "DATABASE_REFUSED",
      `Schema "${schema}" belongs to role "${found.owner}", and "${found.me}" may not grant it: migrate and grant as "${found.owner}".`,
    );
  }
  if (found.owner === role) {
    throw new HoldfastError(
      "REFUSED",
      `Role "${role}" owns schema "${schema}" and may do everything there: grant to another role, which the nodes log in as.`,
    );
  }
}

async function adviceFor(client: ClientBase, role: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ login: boolean; superuser: boolean; connects: boolean; database: string }>(
    `select rolcanlogin as login, rolsuper as superuser, current_database() as database,
       has_database_privilege(oid, current_database(), 'connect') as connects
     from pg_roles where rolname = $1`,
    [role],
  );
  const found = rows[0];
  if (found === undefined) return [];
  const quoted = pg.escapeIdentifier(role);
  return [
    ...(found.login ? [] : [`ALTER ROLE ${quoted} LOGIN;`]),
    ...(found.connects ? [] : [`GRANT CONNECT ON DATABASE ${pg.escapeIdentifier(found.database)} TO ${quoted};`]),
    ...(found.superuser ? [`ALTER ROLE ${quoted} NOSUPERUSER;`] : []),
  ];
}
