import { randomBytes } from "node:crypto";
import { inject } from "vitest";
import { resolveConfig } from "../../src/config/config.js";
import { openMaintenance } from "../../src/maintenance.js";
import { createTestDatabase, type TestDatabase, withClient } from "./postgres.js";

export interface LoginRole extends AsyncDisposable {
  readonly name: string;
  /** As it stands in a statement: its name would not pass unquoted. */
  readonly quoted: string;
  /** The database as this role sees it. */
  at(url: string): string;
}

/** Roles belong to the whole server. Declare them before the database, so that they are dropped after it. */
export async function createLogin(purpose: string): Promise<LoginRole> {
  const name = `${purpose} "${randomBytes(4).toString("hex")}"`;
  const quoted = `"${name.replaceAll('"', '""')}"`;
  await withClient(inject("postgresUrl"), (client) => client.query(`CREATE ROLE ${quoted} LOGIN PASSWORD 'secret'`));
  return {
    name,
    quoted,
    at(url) {
      const changed = new URL(url);
      changed.username = encodeURIComponent(name);
      changed.password = "secret";
      return changed.href;
    },
    async [Symbol.asyncDispose]() {
      await withClient(inject("postgresUrl"), (client) => client.query(`DROP ROLE ${quoted}`));
    },
  };
}

/** An empty database, migrated by a role that may create a schema and nothing else, which then granted to the other two. */
export async function migratedBy(migrator: LoginRole, node: LoginRole, reader: LoginRole): Promise<TestDatabase> {
  const database = await createTestDatabase({ template: "template1" });
  await withClient(database.url, (client) =>
    client.query(`GRANT CREATE ON DATABASE ${database.name} TO ${migrator.quoted}`),
  );
  await using maintenance = await openMaintenance(resolveConfig({ store: { url: migrator.at(database.url) } }, false));
  await maintenance.migrate();
  await maintenance.grant(node.name);
  await maintenance.grant(reader.name, "reader");
  return database;
}
