import { randomBytes } from "node:crypto";
import { copyFile, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { makeTestDirectory, startIn, type TestServer, withClient } from "./postgres.js";
import { postgresMajor } from "./postgres-version.js";

/** A hot standby that streams from its primary, asynchronously unless the primary names it in synchronous_standby_names. */
export interface Replica extends TestServer {
  /** Its application_name at the primary. */
  readonly name: string;
  /** Waits until all that the primary has written so far is visible here. */
  caughtUp(): Promise<void>;
  /** Makes it a primary of its own, on a new timeline. Resolves when it accepts writes. The old primary is left alone. */
  promote(): Promise<void>;
}

type Primary = Pick<TestServer, "url" | "port" | "dataDir">;

const deadlineMs = 20_000;

/** What PostgreSQL makes anew at its start, or must not share with the server that it is a copy of. */
const leftOut: ReadonlySet<string> = new Set([
  "postmaster.pid",
  "postmaster.opts",
  "backup_label",
  "standby.signal",
  "postgresql.auto.conf.tmp",
]);
const emptied: ReadonlySet<string> = new Set([
  "pg_wal",
  "pg_replslot",
  "pg_dynshmem",
  "pg_notify",
  "pg_serial",
  "pg_snapshots",
  "pg_stat_tmp",
  "pg_subtrans",
]);

/** Copies the running primary and starts the copy. */
export async function startReplica(primary: Primary): Promise<Replica> {
  const name = `replica_${randomBytes(4).toString("hex")}`;
  const dataDir = await makeTestDirectory();
  await copyOnline(primary, dataDir, name);
  await copyFile(join(primary.dataDir, "password"), join(dataDir, "password"));
  const { username, password } = new URL(primary.url);
  const server = await startIn(dataDir, {
    primary_conninfo: `host=127.0.0.1 port=${primary.port} user=${username} password=${password} application_name=${name}`,
    primary_slot_name: name,
    // A lost primary is looked for again soon, not after five seconds.
    wal_retrieve_retry_interval: "100ms",
  });
  // The members that the server computes anew at each read must stay so, hence no spread.
  return Object.assign(server, {
    name,
    caughtUp: () => caughtUp(primary, server),
    promote: () => promote(server),
  });
}

/** A backup of a running server: the slot keeps what is written meanwhile, and the label says from where to replay it. */
export async function copyOnline(
  primary: Pick<Primary, "url" | "dataDir">,
  dataDir: string,
  slot: string,
): Promise<void> {
  const pgdata = join(dataDir, "data");
  await withClient(primary.url, async (client) => {
    await client.query("SELECT pg_create_physical_replication_slot($1, true)", [slot]);
    const { start, stop } = backupCalls();
    await client.query(start, [slot]);
    await copyTree(join(primary.dataDir, "data"), pgdata);
    const { rows } = await client.query<{ labelfile: string }>(stop);
    await writeFile(join(pgdata, "backup_label"), rows[0]?.labelfile ?? "");
  });
  await writeFile(join(pgdata, "standby.signal"), "");
}

/** PostgreSQL 15 gave them other names, and took the exclusive way away that older ones have to be told not to go. */
function backupCalls(): { readonly start: string; readonly stop: string } {
  return postgresMajor() < 15
    ? { start: "SELECT pg_start_backup($1, true, false)", stop: "SELECT labelfile FROM pg_stop_backup(false, false)" }
    : { start: "SELECT pg_backup_start($1, true)", stop: "SELECT labelfile FROM pg_backup_stop(false)" };
}

async function copyTree(from: string, to: string, depth = 0): Promise<void> {
  await mkdir(to, { mode: 0o700 });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (depth === 0 && leftOut.has(entry.name)) continue;
    if (entry.isDirectory() && depth === 0 && emptied.has(entry.name)) await mkdir(target, { mode: 0o700 });
    else if (entry.isDirectory()) await copyTree(source, target, depth + 1);
    else await copyFile(source, target).catch(ignoreVanished);
  }
}

/** Tables are dropped while the copy is made. The log that is replayed over it drops them there, too. */
function ignoreVanished(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}

async function caughtUp(primary: Primary, replica: TestServer): Promise<void> {
  const lsn = await withClient(primary.url, async (client) => {
    const { rows } = await client.query<{ lsn: string }>("SELECT pg_current_wal_flush_lsn() AS lsn");
    return rows[0]?.lsn;
  });
  const arrived = await withClient(replica.url, (client) =>
    waitUntil(async () => {
      const { rows } = await client.query<{ there: boolean }>(
        "SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn AS there",
        [lsn],
      );
      return rows[0]?.there ?? false;
    }, deadlineMs),
  );
  if (!arrived) throw new Error(`The replica on port ${replica.port} did not reach ${lsn} in ${deadlineMs} ms`);
}

async function promote(replica: TestServer): Promise<void> {
  const { rows } = await withClient(replica.url, (client) =>
    client.query<{ done: boolean }>("SELECT pg_promote(true, 20) AS done"),
  );
  if (rows[0]?.done !== true) throw new Error(`The replica on port ${replica.port} was not promoted in time`);
}
