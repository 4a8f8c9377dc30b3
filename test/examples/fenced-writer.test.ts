import type { Client } from "pg";
import { expect, it } from "vitest";
import { createTestDatabase, withClient } from "../support/postgres.js";
import { type ExampleProcess, eventually, nextLeader, startExample } from "./example-process.js";

it("a writer that was frozen in its transaction is refused when it wakes after a takeover", async () => {
  await using database = await createTestDatabase();
  await using first = startExample("fenced-writer", database.url);
  await using second = startExample("fenced-writer", database.url);
  const { replica: stale, epoch } = await nextLeader([first, second]);
  const twin = stale === first ? second : first;
  await stale.line(/^wrote entry 1 /);
  await withClient(database.url, (client) => freezeInTransaction(stale, client));
  const { epoch: newer } = await nextLeader([twin], epoch);
  await twin.line(new RegExp(`^wrote entry 3 of epoch ${newer}$`));
  stale.signal("SIGCONT");

  const [, refused] = await stale.line(/^refused (entry \d+ of epoch \d+): STALE_EPOCH$/);
  await twin.line(new RegExp(`^wrote entry ${countOf(twin.lines, /^wrote /) + 2} `));

  const entries = await withClient(database.url, async (client) => {
    const { rows } = await client.query<{ epoch: number; text: string }>(
      "select epoch::integer, text from ledger_entries order by id",
    );
    return rows;
  });
  expect(entries.map((entry) => entry.text)).not.toContain(refused);
  const written = [...stale.lines, ...twin.lines].flatMap((line) => line.match(/^wrote (.*)$/)?.[1] ?? []);
  expect(entries.map((entry) => entry.text)).toEqual(expect.arrayContaining(written));
  expect(new Set(entries.map((entry) => entry.epoch))).toEqual(new Set([epoch, newer]));
  // Nothing of the old epoch was committed behind the first entry of the new one.
  const firstOfNewer = entries.findIndex((entry) => entry.epoch === newer);
  expect(entries.slice(firstOfNewer).every((entry) => entry.epoch === newer)).toBe(true);
});

/** Stops the writer, and looks whether it was inside a transaction. If not, it wakes, and stops at its next entry. */
async function freezeInTransaction(writer: ExampleProcess, client: Client): Promise<void> {
  await eventually(
    async () => {
      await writer.line(new RegExp(`^writing entry ${countOf(writer.lines, /^writing /) + 1} `));
      writer.signal("SIGSTOP");
      const { rows } = await client.query(
        "select from pg_stat_activity where datname = current_database() and state = 'idle in transaction'",
      );
      if (rows.length > 0) return true;
      writer.signal("SIGCONT");
      return undefined;
    },
    () => "the writer was never stopped inside a transaction",
  );
}

function countOf(lines: readonly string[], pattern: RegExp): number {
  return lines.filter((line) => pattern.test(line)).length;
}
