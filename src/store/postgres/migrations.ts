import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import type { ClientBase } from "pg";
import pg from "pg";
import { errorText, HoldfastError } from "../../errors.js";
import { grantAgain } from "./grants.js";
import { sqlState, sqlStateOf } from "./sql-errors.js";

/**
 * Migrations are plain numbered SQL files. Each states the oldest code that may still run on the schema it leaves behind
 * (`-- oldest-code: N`, N being a code's own newest migration), so that old and new nodes run side by side during a
 * rolling deploy, and only code that is older than that is refused.
 */
export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly oldestCode: number;
  readonly sql: string;
  /** What was applied is not edited afterwards: a schema that was made by another text is refused. */
  readonly digest: string;
}

const folder = new URL("../../../migrations/", import.meta.url);

export async function readMigrations(from: URL = folder): Promise<readonly Migration[]> {
  const files = (await readdir(from)).filter((name) => name.endsWith(".sql")).sort();
  const migrations = await Promise.all(files.map((name) => readMigration(name, from)));
  migrations.forEach((migration, index) => {
    if (migration.version !== index + 1) {
      throw new HoldfastError("BROKEN_INVARIANT", `Migration ${migration.name} should have number ${index + 1}.`);
    }
  });
  return migrations;
}

async function readMigration(name: string, from: URL): Promise<Migration> {
  const sql = await readFile(new URL(name, from), "utf8");
  const version = /^(\d{4})_[a-z0-9_]+\.sql$/.exec(name)?.[1];
  const oldestCode = /^-- oldest-code: (\d+)$/m.exec(sql)?.[1];
  if (version === undefined || oldestCode === undefined) {
    throw new HoldfastError(
      "BROKEN_INVARIANT",
      `Migration ${name} needs a name like 0001_what.sql and an oldest-code line.`,
    );
  }
  const digest = createHash("sha256").update(sql).digest("hex");
  return { version: Number(version), name, oldestCode: Number(oldestCode), sql, digest };
}

export interface MigrationReport {
  readonly from: number;
  readonly to: number;
  readonly applied: readonly string[];
}

/** Brings the schema up to this code's version. Many nodes may call it at once: one of them works, the others wait. */
export async function migrate(
  client: ClientBase,
  schema: string,
  migrations: readonly Migration[],
  options: { readonly dryRun?: boolean } = {},
): Promise<MigrationReport> {
  const found = await inspect(client, schema);
  const pending = migrations.filter((migration) => migration.version > found.version);
  refuseUnfit(found, migrations, schema);
  const report = { from: found.version, to: migrations.length, applied: pending.map((migration) => migration.name) };
  if (pending.length === 0 || options.dryRun === true) return report;

  await client.query("begin");
  try {
    // Held until the commit. The key is fixed: it has to be the same for code of every version.
    await client.query("select pg_advisory_xact_lock(hashtextextended('holdfast migrate ' || $1, 0))", [schema]);
    await client.query("set local synchronous_commit = on");
    const applied = await applyPending(client, schema, migrations);
    await grantAgain(client, schema);
    await client.query("commit");
    return { ...report, applied };
  } catch (error) {
    await client.query("rollback");
    throw sqlStateOf(error) === sqlState.insufficientPrivilege ? mayNotMigrate(found, report, schema, error) : error;
  }
}

async function applyPending(client: ClientBase, schema: string, migrations: readonly Migration[]): Promise<string[]> {
  const quoted = pg.escapeIdentifier(schema);
  // Asked for only where it is missing: the owner of a schema need not have the right to create one.
  const { rowCount } = await client.query("select from pg_namespace where nspname = $1", [schema]);
  if (rowCount === 0) await client.query(`create schema if not exists ${quoted}`);
  await client.query(`create table if not exists ${quoted}.migrations (
    version integer primary key,
    name text not null,
    oldest_code integer not null,
    digest text,
    applied_at timestamptz not null default clock_timestamp()
  )`);
  await client.query(`alter table ${quoted}.migrations add column if not exists digest text`);
  // Looked at again under the lock: another node may have been quicker.
  const found = await inspect(client, schema);
  refuseUnfit(found, migrations, schema);
  const applied: string[] = [];
  for (const migration of migrations) {
    if (migration.version <= found.version) continue;
    await client.query(withSchema(migration.sql, schema));
    const { version, name, oldestCode, digest } = migration;
    await client.query(
      `insert into ${quoted}.migrations (version, name, oldest_code, digest) values ($1, $2, $3, $4)`,
      [version, name, oldestCode, digest],
    );
    applied.push(migration.name);
  }
  return applied;
}

/** For `migrate = "check"`: refuses with the command to run, and changes nothing. */
export async function checkMigrations(
  client: ClientBase,
  schema: string,
  migrations: readonly Migration[],
): Promise<void> {
  const found = await inspect(client, schema);
  refuseUnfit(found, migrations, schema);
  if (found.version < migrations.length) {
    throw new HoldfastError(
      "SCHEMA_TOO_OLD",
      `Schema "${schema}" is at version ${found.version}, this code needs ${migrations.length}: run "holdfast migrate", or set store.migrate to "auto".`,
    );
  }
}

interface Found {
  readonly version: number;
  readonly oldestCode: number;
  /** Of those whose digest was kept. */
  readonly digests: ReadonlyMap<number, string>;
}

const nothing: Found = { version: 0, oldestCode: 0, digests: new Map() };

async function inspect(client: ClientBase, schema: string): Promise<Found> {
  const table = `${pg.escapeIdentifier(schema)}.migrations`;
  const exists = await client.query<{ there: boolean }>("select to_regclass($1) is not null as there", [table]);
  if (exists.rows[0]?.there !== true) return nothing;
  // As JSON: the column is younger than the table.
  const { rows } = await client.query<{ version: number; oldest_code: number; digest: string | null }>(
    `select m.version, m.oldest_code, to_jsonb(m)->>'digest' as digest from ${table} m`,
  );
  return {
    version: Math.max(0, ...rows.map(({ version }) => version)),
    oldestCode: Math.max(0, ...rows.map((row) => row.oldest_code)),
    digests: new Map(rows.flatMap(({ version, digest }) => (digest === null ? [] : [[version, digest]]))),
  };
}

function mayNotMigrate(found: Found, { to }: MigrationReport, schema: string, cause: unknown): HoldfastError {
  const said = errorText(cause);
  return new HoldfastError(
    "DATABASE_REFUSED",
    `Schema "${schema}" is at version ${found.version}, this code needs ${to}, and this role may not change it (${said}): run "holdfast migrate" as the role that owns it.`,
    { cause },
  );
}

function refuseUnfit(found: Found, migrations: readonly Migration[], schema: string): void {
  const edited = migrations.find(({ version, digest }) => (found.digests.get(version) ?? digest) !== digest);
  if (edited !== undefined) {
    throw new HoldfastError(
      "SCHEMA_DIFFERS",
      `Schema "${schema}" was made by another text of ${edited.name} than this code has, so neither fits the other: run the code that made it; or, where nothing in it is needed, DROP SCHEMA ${pg.escapeIdentifier(schema)} CASCADE and migrate anew (the demo: --fresh).`,
    );
  }
  if (found.oldestCode <= migrations.length) return;
  throw new HoldfastError(
    "SCHEMA_TOO_NEW",
    `Schema "${schema}" is at version ${found.version} and runs only with code of version ${found.oldestCode} or newer; this is ${migrations.length}: upgrade this node.`,
  );
}

function withSchema(sql: string, schema: string): string {
  return sql.replaceAll(':"schema"', pg.escapeIdentifier(schema)).replaceAll(":'schema'", pg.escapeLiteral(schema));
}
