import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import type { TestProject } from "vitest/node";
import { startEmbedded } from "../../src/store/embedded/server.js";
import { migrate, readMigrations } from "../../src/store/postgres/migrations.js";
import { fetchTestBinaries, testBinaries } from "./postgres-version.js";

declare module "vitest" {
  interface ProvidedContext {
    /** The superuser's URL of the one server that all test files share. */
    readonly postgresUrl: string;
    /** The database that `createTestDatabase` clones. */
    readonly postgresTemplate: string;
  }
}

const template = "holdfast_template";

/** Brings the template to what every test database starts from. Each test clones it, so this runs once. */
async function prepareTemplate(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await migrate(client, "holdfast", await readMigrations());
  } finally {
    await client.end();
  }
}

export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  await fetchTestBinaries();
  const dataDir = await mkdtemp(join(tmpdir(), "holdfast-test-"));
  // No test crashes this one, and without fsync a database is dropped in milliseconds instead of a second.
  const settings = { max_connections: "400", fsync: "off" };
  const server = await startEmbedded({ dataDir, settings, binaries: testBinaries() }).catch(async (error: unknown) => {
    await rm(dataDir, { recursive: true, force: true });
    throw error;
  });
  await makeTemplate(server.url);
  project.provide("postgresUrl", server.url);
  project.provide("postgresTemplate", template);
  return async () => {
    await server.stop("immediate");
    await rm(dataDir, { recursive: true, force: true });
  };
}

async function makeTemplate(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`CREATE DATABASE ${template}`);
    const templateUrl = new URL(url);
    templateUrl.pathname = template;
    await prepareTemplate(templateUrl.href);
    // A session in the template would make every CREATE DATABASE from it fail; from here on nobody can have one.
    await client.query(`ALTER DATABASE ${template} ALLOW_CONNECTIONS false`);
  } finally {
    await client.end();
  }
}
