import pg from "pg";
import { type Epoch, epochOf, type Role } from "../../election/core/names.js";
import { HoldfastError } from "../../errors.js";
import type { AccessBook } from "../contract.js";
import { accessBook } from "./access-book.js";
import { type GrantKind, type GrantReport, grant } from "./grants.js";
import { GuardedClient } from "./guarded-client.js";
import { checkMigrations, type MigrationReport, migrate, readMigrations } from "./migrations.js";
import { noTimeout, type Questions, questionsOver } from "./questions.js";

export interface PostgresMaintenanceOptions {
  readonly connection: pg.ClientConfig;
  readonly schema: string;
  readonly cluster: string;
  readonly migrate: "auto" | "check";
}

/** What an operator does straight in the database. No node joins, and nothing is asked before it is needed. */
export class PostgresMaintenance {
  private readonly options: PostgresMaintenanceOptions;
  private readonly pool: pg.Pool;
  private readonly questions: Questions;
  /** Its entries in the audit name no node. */
  readonly access: AccessBook;

  constructor(options: PostgresMaintenanceOptions) {
    this.options = options;
    this.pool = new pg.Pool({
      ...options.connection,
      Client: GuardedClient,
      max: 2,
      connectionTimeoutMillis: 5_000,
      application_name: "holdfast maintenance",
    });
    // An idle connection that breaks is replaced at the next question; without a listener it would end the process.
    this.pool.on("error", () => undefined);
    this.questions = questionsOver(this.pool, pg.escapeIdentifier(options.schema));
    this.access = accessBook(this.questions, null);
  }

  /** Brings the schema up and claims it for the cluster; a dry run only says what would be done. */
  async migrate({ dryRun = false }: { readonly dryRun?: boolean } = {}): Promise<MigrationReport> {
    const { schema } = this.options;
    return await this.questions.ask(
      "migrating the schema",
      async (client) => {
        const report = await migrate(client, schema, await readMigrations(), { dryRun });
        if (!dryRun) await this.claim(client);
        return report;
      },
      noTimeout,
    );
  }

  /** As a node would at its start: what follows finds the schema as this code needs it. */
  async prepare(): Promise<void> {
    if (this.options.migrate === "auto") {
      await this.migrate();
      return;
    }
    await this.questions.ask("checking the schema", async (client) => {
      await checkMigrations(client, this.options.schema, await readMigrations());
      await this.claim(client);
    });
  }

  /** A schema belongs to one cluster; what is done here is never done to another's. */
  private async claim(client: pg.ClientBase): Promise<void> {
    const { schema, cluster } = this.options;
    const { rows } = await client.query<{ owner: string }>(
      `select ${this.questions.schema}.claim_schema($1) as owner`,
      [cluster],
    );
    const owner = rows[0]?.owner;
    if (owner === cluster) return;
    throw new HoldfastError(
      "SCHEMA_IN_USE",
      `Schema "${schema}" belongs to cluster "${owner}", not "${cluster}": set another store.schema or cluster.name.`,
    );
  }

  /** What the role needs, as a node or to look on. Refused before the schema is there in this code's version. */
  async grant(role: string, kind: GrantKind): Promise<GrantReport> {
    const { schema } = this.options;
    return await this.questions.ask("granting", async (client) => {
      await checkMigrations(client, schema, await readMigrations());
      return await grant(client, schema, { role, kind });
    });
  }

  async advanceEpoch(role: Role, to: Epoch): Promise<Epoch> {
    const rows = await this.questions.rows<{ epoch: string }>(
      "advancing an epoch",
      `select ${this.questions.schema}.advance_epoch($1, $2)::text as epoch`,
      [role, to.toString()],
    );
    return epochOf(rows[0]?.epoch ?? "0");
  }

  async close(): Promise<void> {
    await this.pool.end();
  }
}
