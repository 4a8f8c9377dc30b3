import { join } from "node:path";
import { withClient } from "../support/postgres.js";
import { type Snippet, snippet } from "../support/snippets.js";

/** The blocks of one guide, by the names that its markers give them. */
export function guide(name: string): (block: string) => Snippet {
  const path = join(import.meta.dirname, "../../docs/guides", `${name}.md`);
  return (block) => snippet(path, block);
}

/** Runs a block of SQL as it is printed. A transaction that it leaves open behind a failure ends with its session. */
export async function runSql(url: string, { text }: Snippet): Promise<void> {
  await withClient(url, (client) => client.query(text));
}

/** The rows of a statement, in a session of its own. */
export async function rowsOf<Row extends object>(
  url: string,
  sql: string,
  values: readonly unknown[] = [],
): Promise<readonly Row[]> {
  return await withClient(url, async (client) => (await client.query<Row>(sql, [...values])).rows);
}
