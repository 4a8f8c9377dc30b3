import { existsSync } from "node:fs";
import { join } from "node:path";
import { Access, type TokenWish } from "./access/access.js";
import type { TokenRow } from "./access/token.js";
import type { Config } from "./config/config.js";
import { expectationsOf } from "./doctor/expectations.js";
import type { Finding } from "./doctor/finding.js";
import { judge } from "./doctor/judge.js";
import { systemClock } from "./election/clock.js";
import { epochOf, parseRole } from "./election/core/names.js";
import { HoldfastError } from "./errors.js";
import { findRunning } from "./store/embedded/running.js";
import { type EmbeddedServer, startEmbedded } from "./store/embedded/server.js";
import { connectionOf } from "./store/postgres/connection.js";
import { gatherFacts } from "./store/postgres/diagnosis.js";
import type { GrantKind, GrantReport } from "./store/postgres/grants.js";
import { PostgresMaintenance } from "./store/postgres/maintenance.js";
import { type MigrationReport, readMigrations } from "./store/postgres/migrations.js";

export type { Finding } from "./doctor/finding.js";
export type { GrantKind, GrantReport } from "./store/postgres/grants.js";
export type { MigrationReport } from "./store/postgres/migrations.js";

/**
 * What goes straight to the database, whether or not a node runs: no node joins, and none is asked. Each call connects when
 * it needs to, so that a diagnosis can begin with a database that is away.
 */
export interface Maintenance extends AsyncDisposable {
  /** Brings the schema up; a dry run only says what would be done. */
  migrate(options?: { readonly dryRun?: boolean }): Promise<MigrationReport>;
  /**
   * Gives an existing role of the database what a node needs, or what a reader may see, and nothing else; what it had in the
   * schema before is taken away. Later migrations keep it so.
   */
  grant(role: string, kind?: GrantKind): Promise<GrantReport>;
  /** Looks, changes nothing, and never throws for what it finds: a database that is away is a finding. */
  diagnose(): Promise<readonly Finding[]>;
  /** The secret is in this answer and nowhere else. `createdBy` stands in the audit. */
  createToken(wish: TokenWish, createdBy: string): Promise<{ readonly token: TokenRow; readonly secret: string }>;
  tokens(): Promise<readonly TokenRow[]>;
  revokeToken(id: string, revokedBy?: string): Promise<TokenRow>;
  /** For after a restore from a dump. Answers the role's epoch as it is then, which may be higher than asked for. */
  advanceEpoch(role: string, to: bigint, advancedBy?: string): Promise<bigint>;
  close(): Promise<void>;
}

/** Where the settings lead, and how, without any credentials. */
export interface DatabasePlace {
  /** For a person. */
  readonly shown: string;
  /** What the driver makes of store.tls, the URL and the host together. */
  readonly tls: Config["store"]["tls"];
}

/** Connects to nothing, and makes nothing. */
export function placeOf(config: Config): DatabasePlace {
  const { host = "", port, database, ssl = false } = connectionOf(config, config.store.url.reveal());
  const checks = typeof ssl !== "object" || ssl.rejectUnauthorized !== false;
  const tls = ssl === false ? "disable" : checks ? "verify-full" : "require";
  if (config.backend === "embedded") return { shown: `the embedded PostgreSQL in ${config.store.dataDir}`, tls };
  const name = database ? `database "${database}"` : "the user's own database";
  if (host.startsWith("/")) return { shown: `${name} at the socket in ${host}`, tls };
  const address = host.includes(":") ? `[${host}]` : host;
  return { shown: `${name} at ${address}${port === undefined ? "" : `:${port}`}`, tls };
}

/** Whether an embedded server has kept its files there before. */
export function hasEmbeddedDatabase(dataDir: string): boolean {
  return existsSync(join(dataDir, "data"));
}

/** Starts the embedded server where that is meant and nobody runs it yet; it ends with `close`. */
export async function openMaintenance(config: Config): Promise<Maintenance> {
  const embedded = config.backend === "embedded" ? await openEmbedded(config.store.dataDir) : null;
  try {
    return maintain(config, embedded);
  } catch (error) {
    await embedded?.server?.stop();
    throw error;
  }
}

interface Embedded {
  readonly url: string;
  /** Null where another process runs it. */
  readonly server: EmbeddedServer | null;
}

async function openEmbedded(dataDir: string): Promise<Embedded> {
  try {
    const server = await startEmbedded({ dataDir });
    return { url: server.url, server };
  } catch (error) {
    const owned = error instanceof HoldfastError && "pid" in error.details;
    const url = owned ? await findRunning(dataDir) : null;
    if (url === null) throw error;
    return { url, server: null };
  }
}

function maintain(config: Config, embedded: Embedded | null): Maintenance {
  const { store, cluster } = config;
  const connection = connectionOf(config, embedded?.url ?? store.url.reveal());
  const database = new PostgresMaintenance({
    connection,
    schema: store.schema,
    cluster: cluster.name,
    migrate: store.migrate,
  });
  const access = new Access(database.access, systemClock);
  /** With its line in the audit from before it is done. */
  const audited = async <Result>(
    [actor, action, target]: readonly [actor: string, action: string, target: string],
    act: () => Promise<Result>,
  ): Promise<Result> => {
    await database.prepare();
    const line = await access.beginAudit({ actor, action, target, address: null });
    const result = await act();
    // The line is there: that it was done, too, is worth a try, and not a token whose secret nobody would hear of.
    await access.finishAudit(line, "done").catch(() => undefined);
    return result;
  };
  const close = async (): Promise<void> => {
    await database.close();
    await embedded?.server?.stop();
  };
  return {
    migrate: (options) => database.migrate(options),
    grant: (role, kind = "node") => database.grant(role, kind),
    async diagnose() {
      const codeVersion = (await readMigrations()).length;
      const facts = await gatherFacts({
        connection,
        electionConnection: store.electionUrl.isEmpty ? null : connectionOf(config, store.electionUrl.reveal()),
        schema: store.schema,
        codeVersion,
        commitTimeoutMs: 2 * config.timing.requestTimeoutMs,
      });
      return judge(facts, expectationsOf(config, codeVersion));
    },
    createToken: (wish, createdBy) =>
      audited([createdBy, "token create", wish.name], () => access.create(wish, createdBy)),
    async tokens() {
      await database.prepare();
      return await access.tokens();
    },
    revokeToken: (id, revokedBy = operator) => audited([revokedBy, "token revoke", id], () => access.revoke(id)),
    async advanceEpoch(role, to, advancedBy = operator) {
      const parsed = parseRole(role);
      const epoch = epochOf(to);
      return await audited([advancedBy, "leader advance-epoch", `${parsed} ${to}`], () =>
        database.advanceEpoch(parsed, epoch),
      );
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Whoever has the database's password and gives no name. */
const operator = "operator";
