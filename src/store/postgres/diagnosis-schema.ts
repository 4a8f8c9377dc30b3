import pg from "pg";
import type { ClusterFacts, SchemaFacts } from "../../doctor/facts.js";
import { nodeSequences, rightsOn } from "./grants.js";

/** What is in the schema, as far as this role may see it, and which of a node's rights it lacks. */
export async function gatherSchema(client: pg.ClientBase, schema: string): Promise<SchemaFacts> {
  const { rows } = await client.query<{ owner: string; owns: boolean; usage: boolean }>(
    `select pg_get_userbyid(nspowner) as owner, pg_has_role(nspowner, 'usage') as owns,
       has_schema_privilege(oid, 'usage') as usage
     from pg_namespace where nspname = $1`,
    [schema],
  );
  const { rows: database } = await client.query<{ create: boolean }>(
    "select has_database_privilege(current_database(), 'create') as create",
  );
  const found = rows[0];
  const nothing = { version: null, oldestCode: null, cluster: null, identity: null };
  const mayCreate = database[0]?.create ?? false;
  if (found === undefined) return { ...nothing, exists: false, owner: null, owns: false, mayCreate, lacking: [] };
  const { owner, owns } = found;
  if (!found.usage) {
    return { ...nothing, exists: true, owner, owns, mayCreate, lacking: [`usage on schema ${schema}`] };
  }
  const lacking = await lackingRights(client, schema);
  return { exists: true, owner, owns, mayCreate, lacking, ...(await contents(client, schema)) };
}

async function lackingRights(client: pg.ClientBase, schema: string): Promise<string[]> {
  const wanted = Object.entries(rightsOn).flatMap(([name, { node }]) => node.map((right) => ({ name, right })));
  const { rows } = await client.query<{ lacking: string }>(
    `select w.right || ' on ' || w.name as lacking
     from jsonb_to_recordset($2) w(name text, "right" text)
     join pg_class c on c.relname = w.name and c.relnamespace = $1::regnamespace
     where not has_table_privilege(c.oid, w.right)
     union all
     select 'usage on sequence ' || c.relname from pg_class c
     where c.relname = any ($3) and c.relnamespace = $1::regnamespace and not has_sequence_privilege(c.oid, 'usage')
     union all
     select 'execute on ' || p.proname from pg_proc p
     where p.pronamespace = $1::regnamespace and not has_function_privilege(p.oid, 'execute')`,
    [pg.escapeIdentifier(schema), JSON.stringify(wanted), nodeSequences],
  );
  return rows.map(({ lacking }) => lacking);
}

type Contents = Pick<SchemaFacts, "version" | "oldestCode" | "cluster" | "identity">;

async function contents(client: pg.ClientBase, schema: string): Promise<Contents> {
  const quoted = pg.escapeIdentifier(schema);
  const versions = await ifReadable<{ version: number; oldest: number }>(
    client,
    `${quoted}.migrations`,
    `select coalesce(max(version), 0) as version, coalesce(max(oldest_code), 0) as oldest from ${quoted}.migrations`,
  );
  const meta = await ifReadable<{ cluster: string; identity: string | null }>(
    client,
    `${quoted}.meta`,
    `select cluster, ${quoted}.identity() as identity from ${quoted}.meta`,
  );
  // Before the first node has claimed it, the identity can still be asked for.
  const asked = meta.length > 0 ? meta : await ifIdentity(client, schema);
  return {
    version: versions[0]?.version ?? null,
    oldestCode: versions[0]?.oldest ?? null,
    cluster: meta[0]?.cluster ?? null,
    identity: asked[0]?.identity ?? null,
  };
}

async function ifIdentity(client: pg.ClientBase, schema: string): Promise<readonly { identity: string | null }[]> {
  const name = `${pg.escapeIdentifier(schema)}.identity()`;
  const { rows } = await client.query<{ may: boolean | null }>(
    "select has_function_privilege(to_regprocedure($1), 'execute') as may",
    [name],
  );
  if (rows[0]?.may !== true) return [];
  return (await client.query<{ identity: string | null }>(`select ${name} as identity`)).rows;
}

/** No rows where the table is not there, or not for this role to read. */
async function ifReadable<Row extends pg.QueryResultRow>(
  client: pg.ClientBase,
  table: string,
  query: string,
): Promise<readonly Row[]> {
  const { rows } = await client.query<{ may: boolean | null }>(
    "select has_table_privilege(to_regclass($1), 'select') as may",
    [table],
  );
  return rows[0]?.may === true ? (await client.query<Row>(query)).rows : [];
}

/** Null where this role may not read it, or the schema is of a version that this code may not understand. */
export async function gatherCluster(
  client: pg.ClientBase,
  schema: string,
  facts: SchemaFacts,
): Promise<ClusterFacts | null> {
  if (facts.version === null || facts.version === 0 || facts.lacking.length > 0) return null;
  const quoted = pg.escapeIdentifier(schema);
  const { rows: nodes } = await client.query<{ node_id: string; status: string; age: number }>(
    `select node_id, status, extract(epoch from clock_timestamp() - last_heartbeat)::float8 * 1000 as age
     from ${quoted}.nodes order by node_id`,
  );
  const { rows: leases } = await client.query<LeaseRow>(
    `select role, epoch::text, holder, identity,
       extract(epoch from expires_at - clock_timestamp())::float8 * 1000 as remaining
     from ${quoted}.leases order by role`,
  );
  const { rows: rest } = await client.query<{ bytes: string; logins: string[] }>(
    `select pg_total_relation_size('${quoted}.history') as bytes,
       array(select distinct a.usename::text from ${quoted}.nodes n join pg_stat_activity a
         on a.pid = split_part(n.lock_session, '@', 1)::integer
         and (a.backend_start is null or ${quoted}.session_ref(a.pid, a.backend_start) = split_part(n.lock_session, '#', 1))
         where a.usename is not null order by 1) as logins`,
  );
  return {
    nodes: nodes.map(({ node_id, status, age }) => ({ nodeId: node_id, status, heartbeatAgeMs: age })),
    leases: leases.map(({ remaining, epoch, ...lease }) => ({
      ...lease,
      epoch: BigInt(epoch),
      remainingMs: remaining,
    })),
    historyBytes: Number(rest[0]?.bytes ?? 0),
    logins: rest[0]?.logins ?? [],
  };
}

interface LeaseRow {
  role: string;
  epoch: string;
  holder: string | null;
  identity: string | null;
  remaining: number;
}
