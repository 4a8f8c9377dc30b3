import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { newcomerEnvironment } from "../support/installed-package.js";

const run = promisify(execFile);
/** A release at which all three are there. */
const version = "7.10.0";
const cache = join(import.meta.dirname, "../../node_modules/.cache/holdfast");

const schema = `
generator client {
  provider = "prisma-client-js"
  output   = "./client"
}
datasource db {
  provider = "postgresql"
}
model Invoice {
  id     BigInt @id @default(autoincrement())
  amount Int
  @@map("invoices")
}
`;

/**
 * A folder with Prisma and a client that it generated for the guide's table. Fetched when it is first asked for, since its command line
 * weighs more than all that we develop with (ADR 10).
 */
async function generatedPrisma(): Promise<string> {
  const state = createHash("sha256").update(schema).digest("hex").slice(0, 8);
  const made = join(cache, `prisma-${version}-${state}`);
  if (existsSync(made)) return made;
  await mkdir(cache, { recursive: true });
  const draft = await mkdtemp(join(cache, "draft-"));
  try {
    const env = newcomerEnvironment();
    await writeFile(join(draft, "package.json"), '{ "private": true }\n');
    await writeFile(join(draft, "schema.prisma"), schema);
    const packages = ["prisma", "@prisma/client", "@prisma/adapter-pg"].map((name) => `${name}@${version}`);
    const install = ["install", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund", ...packages];
    await run("npm", install, { cwd: draft, env, timeout: 300_000 });
    // Migrations are made by a program that Prisma would download. Its client is generated without it, so any file will do.
    const generate = ["node_modules/prisma/build/index.js", "generate", "--schema", "schema.prisma"];
    const offline = { ...env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: "1" };
    await run(process.execPath, generate, { cwd: draft, env: offline, timeout: 120_000 });
    await rename(draft, made);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    // Another process made the same one in the meantime.
    if (!existsSync(made)) throw error;
  }
  return made;
}

/** Gives a project the packages, and the client as `./client/index.js`. */
export async function linkPrisma(project: string): Promise<void> {
  const made = await generatedPrisma();
  await symlink(join(made, "client"), join(project, "client"));
  const link = join(project, "node_modules/@prisma/adapter-pg");
  await mkdir(dirname(link), { recursive: true });
  await symlink(join(made, "node_modules/@prisma/adapter-pg"), link);
}
