import { readFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../examples/example-process.js";
import { blocksOf, runSql } from "../support/guide.js";
import type { InstalledProject } from "../support/installed-project.js";
import { createTestDatabase, rowsOf, type TestDatabase, withClient } from "../support/postgres.js";
import type { Exit } from "../support/serve-process.js";
import type { Snippet } from "../support/snippets.js";
import { ensureRole, takeOver } from "../support/takeover.js";

const block = blocksOf("fencing");
const lock = 4711;

/** How a library is opened, writes an invoice in the transaction of the guide's `fenced`, and waits there for a lock. */
export interface Library {
  readonly name: string;
  /** The file of the guide that exports `fenced`. */
  readonly file: string;
  readonly imports: readonly string[];
  /** An expression; `url` is the database's. */
  readonly open: string;
  /** Statements over `tx` and `amount`. */
  readonly insert: string;
  /** An expression over `tx`. */
  readonly waitForLock: string;
  /** A statement over `db`. */
  readonly close: string;
}

/** A database with the guide's table, whose role `billing` has been led up to this epoch. */
export async function billingDatabase(epoch: number): Promise<TestDatabase> {
  const database = await createTestDatabase();
  await runSql(database.url, block("invoices.sql"));
  await ensureRole(database.url, "billing");
  await withClient(database.url, async (client) => {
    while ((await takeOver(client, "billing")) < BigInt(epoch));
  });
  return database;
}

/** Amounts of the invoices that were committed, oldest first. */
export async function amountsIn({ url }: TestDatabase): Promise<readonly number[]> {
  const rows = await rowsOf<{ amount: number }>(url, "select amount from invoices order by id");
  return rows.map(({ amount }) => amount);
}

/**
 * Writes twice through the guide's `fenced`: once as the leader, and once as one that is deposed between its insert and the end of its
 * transaction. Answers what the writer said of both, with the code from where the guide's table says that it stands.
 */
export async function writeTwice(
  project: InstalledProject,
  database: TestDatabase,
  library: Library,
): Promise<{ readonly said: readonly string[]; readonly exit: Exit }> {
  await project.write(block(library.file));
  return await withClient(database.url, async (holder) => {
    await holder.query("select pg_advisory_lock($1)", [lock]);
    const [lease] = await rowsOf<{ epoch: string }>(database.url, "select epoch from holdfast.leases");
    await using writer = await project.start(writerOf(library), { args: [lease?.epoch ?? ""] });
    await writer.line(/^committed 1$/);
    await someoneWaits(database.url);
    await takeOver(holder, "billing");
    await holder.query("select pg_advisory_unlock($1)", [lock]);
    const exit = await writer.exited;
    return { said: writer.lines, exit };
  });
}

/** What `writeTwice` answers where the guide is right. */
export const secondRefused = { said: ["committed 1", "refused with HF001"], exit: { code: 0, signal: null } };

/** Resolves when the writer has inserted, and waits inside of its transaction. */
export async function someoneWaits(url: string): Promise<void> {
  await eventually(
    async () => {
      const waiting = await rowsOf(
        url,
        `select from pg_locks where locktype = 'advisory' and objid = $1 and not granted
           and database = (select oid from pg_database where datname = current_database())`,
        [lock],
      );
      return waiting.length > 0 ? true : undefined;
    },
    () => "the writer never waited inside of its transaction",
  );
}

function writerOf(library: Library): Snippet {
  const { name, file, imports, open, insert, waitForLock, close } = library;
  const lines = [
    ...imports,
    `import { fenced } from "./${file}";`,
    "const url = process.env.DATABASE_URL;",
    "const term = { role: 'billing', epoch: BigInt(process.argv[2]) };",
    `const db = ${open};`,
    "const write = (amount, wait) => fenced(db, term, async (tx) => {",
    `  ${insert};`,
    `  if (wait) await ${waitForLock};`,
    "});",
    "await write(1, false);",
    "console.log('committed 1');",
    "try {",
    "  await write(2, true);",
    "  console.log('committed 2');",
    "} catch (error) {",
    `  console.log("refused with " + ${codeExpressionOf(name)});`,
    "}",
    `await ${close};`,
  ];
  return { name: `write-with-${name.toLowerCase()}.mjs`, language: "js", text: `${lines.join("\n")}\n`, line: 0 };
}

/** Where the guide says that the code stands in this library's error. */
function codeExpressionOf(library: string): string {
  const text = readFileSync(join(import.meta.dirname, "../../docs/guides/fencing.md"), "utf8");
  const expression = text.match(new RegExp(`^\\| ${library} +\\| \`(error[.\\w]+)\` +\\|$`, "m"))?.[1];
  if (expression === undefined) throw new Error(`fencing.md does not say where ${library} has the code`);
  return expression;
}
