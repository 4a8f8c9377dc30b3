import { setTimeout as pause } from "node:timers/promises";
import type pg from "pg";
import type {
  ClockSample,
  CommitFacts,
  ConnectionFacts,
  HorizonFacts,
  ServerFacts,
  SettingFact,
  StandbyFacts,
} from "../../doctor/facts.js";
import { sqlState, sqlStateOf } from "./sql-errors.js";

export interface ServerLook {
  /** False through a pooler: what a session sets there, others inherit. */
  readonly direct: boolean;
  readonly commitTimeoutMs: number;
  readonly openAnother: () => Promise<pg.Client | null>;
}

/** What the server is like for a session of this role. */
export async function gatherServer(client: pg.Client, look: ServerLook): Promise<ServerFacts> {
  const { rows } = await client.query<{ number: number; version: string; recovering: boolean; superuser: boolean }>(
    `select current_setting('server_version_num')::integer as number, current_setting('server_version') as version,
       pg_is_in_recovery() as recovering, current_setting('is_superuser') = 'on' as superuser`,
  );
  const about = rows[0];
  const settings = await gatherSettings(client);
  const inRecovery = about?.recovering ?? false;
  const writable = !inRecovery && settings.get("default_transaction_read_only")?.value !== "on";
  return {
    versionNumber: about?.number ?? 0,
    version: about?.version ?? "",
    inRecovery,
    superuser: about?.superuser ?? false,
    settings,
    watchesClients: look.direct ? await watchesClients(client) : null,
    connections: await gatherConnections(client),
    clock: await sampleClock(client),
    horizon: await gatherHorizon(client, inRecovery),
    standbys: inRecovery ? null : await gatherStandbys(client, settings),
    commits: writable ? await measureCommits(look) : { kind: "untried" },
  };
}

/** What a new session would get: what this one has set for itself does not count. */
async function gatherSettings(client: pg.Client): Promise<ReadonlyMap<string, SettingFact>> {
  const { rows } = await client.query<{ name: string; value: string; source: string }>(
    "select name, reset_val as value, source from pg_settings",
  );
  return new Map(rows.map(({ name, ...setting }) => [name, setting]));
}

async function watchesClients(client: pg.Client): Promise<boolean> {
  try {
    await client.query("select set_config('client_connection_check_interval', '100', false)");
    return true;
  } catch (error) {
    const known = [sqlState.invalidParameterValue, "42704"];
    if (known.includes(sqlStateOf(error) ?? "")) return false;
    throw error;
  }
}

async function gatherConnections(client: pg.Client): Promise<ConnectionFacts> {
  const { rows } = await client.query<ConnectionFacts>(
    `select current_setting('max_connections')::integer as max,
       current_setting('superuser_reserved_connections')::integer
         + coalesce(current_setting('reserved_connections', true)::integer, 0) as reserved,
       (select sum(numbackends) from pg_stat_database)::integer as used,
       (select count(*) from pg_stat_activity where application_name like 'holdfast %')::integer as "ofHoldfast",
       (select rolconnlimit from pg_roles where rolname = session_user) as "roleLimit",
       (select datconnlimit from pg_database where datname = current_database()) as "databaseLimit"`,
  );
  return rows[0] as ConnectionFacts;
}

const samples = 12;
const samplePauseMs = 50;

async function sampleClock(client: pg.Client): Promise<readonly ClockSample[]> {
  const taken: ClockSample[] = [];
  for (let sample = 0; sample < samples; sample += 1) {
    if (sample > 0) await pause(samplePauseMs);
    const sentMono = performance.now();
    const { rows } = await client.query<{ now: number }>(
      "select extract(epoch from clock_timestamp())::float8 * 1000 as now",
    );
    const receivedMono = performance.now();
    taken.push({ sentMono, receivedMono, receivedWall: Date.now(), databaseWall: rows[0]?.now ?? 0 });
  }
  return taken;
}

async function gatherHorizon(client: pg.Client, inRecovery: boolean): Promise<HorizonFacts> {
  if (inRecovery) return { oldest: null, xminAge: 0, prepared: [], slots: [], freezeAge: 0 };
  const { rows: oldest } = await client.query<NonNullable<HorizonFacts["oldest"]>>(
    `select pid, coalesce(usename, '') as user, coalesce(state, '') as state,
       extract(epoch from clock_timestamp() - xact_start)::float8 as seconds
     from pg_stat_activity
     where xact_start is not null and pid <> pg_backend_pid() and (backend_xid is not null or backend_xmin is not null)
     order by xact_start limit 1`,
  );
  const { rows: ages } = await client.query<{ xmin: number; freeze: number }>(
    `select coalesce((select max(age(backend_xmin)) from pg_stat_activity where pid <> pg_backend_pid()), 0) as xmin,
       (select age(datfrozenxid) from pg_database where datname = current_database()) as freeze`,
  );
  const { rows: prepared } = await client.query<HorizonFacts["prepared"][number]>(
    `select gid, extract(epoch from clock_timestamp() - prepared)::float8 as seconds
     from pg_prepared_xacts where database = current_database() order by prepared`,
  );
  const { rows: slots } = await client.query<HorizonFacts["slots"][number]>(
    `select slot_name as name, active, greatest(coalesce(age(xmin), 0), coalesce(age(catalog_xmin), 0)) as "xminAge"
     from pg_replication_slots order by slot_name`,
  );
  return { oldest: oldest[0] ?? null, xminAge: ages[0]?.xmin ?? 0, prepared, slots, freezeAge: ages[0]?.freeze ?? 0 };
}

/** Who streams is shown to everybody, in which state only to those who may see. */
async function gatherStandbys(
  client: pg.Client,
  settings: ReadonlyMap<string, SettingFact>,
): Promise<StandbyFacts | null> {
  const names = settings.get("synchronous_standby_names")?.value ?? "";
  if (names === "") return null;
  const { rows } = await client.query<{ hidden: boolean; synchronous: number }>(
    `select coalesce(bool_or(state is null), false) as hidden,
       count(*) filter (where state = 'streaming' and sync_state in ('sync', 'quorum'))::integer as synchronous
     from pg_stat_replication`,
  );
  return { names, synchronous: rows[0]?.hidden === false ? rows[0].synchronous : null };
}

const commits = 5;

/**
 * Commits that write nothing but a message to nobody into the log, and wait for it like any other: for the disk, and for the
 * synchronous standbys. On a session of its own, which is given up if it does not come back.
 */
async function measureCommits({ openAnother, commitTimeoutMs, direct }: ServerLook): Promise<CommitFacts> {
  const client = await openAnother();
  if (client === null) return { kind: "untried" };
  try {
    const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
    const pid = rows[0]?.pid ?? 0;
    const ms: number[] = [];
    for (let commit = 0; commit < commits; commit += 1) {
      const sentAt = performance.now();
      const done = client
        .query(
          "select set_config('synchronous_commit', 'on', true), pg_logical_emit_message(true, 'holdfast', 'diagnosis')",
        )
        .then(() => "done" as const);
      const late = new AbortController();
      const outcome = await Promise.race([
        done,
        pause(commitTimeoutMs, "late" as const, { signal: late.signal }).catch(() => "late" as const),
      ]);
      late.abort();
      if (outcome === "late") {
        done.catch(() => undefined);
        if (direct) await giveUp(openAnother, pid);
        return { kind: "late", afterMs: commitTimeoutMs };
      }
      ms.push(performance.now() - sentAt);
    }
    return { kind: "measured", ms };
  } catch (error) {
    if (sqlStateOf(error) === null) throw error;
    return { kind: "untried" };
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** A session that waits for a standby notices nothing by itself, not even that nobody waits for it. */
async function giveUp(openAnother: () => Promise<pg.Client | null>, pid: number): Promise<void> {
  const other = await openAnother();
  await other?.query("select pg_terminate_backend($1)", [pid]);
  await other?.end();
}
