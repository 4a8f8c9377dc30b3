import { expect, it } from "vitest";
import { createTestDatabase, withClient } from "../support/postgres.js";
import { nextLeader, startExample } from "./example-process.js";

it("a writer that was frozen in its transaction is refused when it wakes after a takeover", async () => {
  await using database = await createTestDatabase();
  await using first = startExample("fenced-writer", database.url);
  await using second = startExample("fenced-writer", database.url);
  const { replica: stale, epoch } = await nextLeader([first, second]);
  const twin = stale === first ? second : first;
  await stale.line(/^wrote entry 1 /);

  // Each entry says that it is being written from inside its transaction, and takes 50 ms to commit.
  const begun = stale.lines.length;
  await stale.line(new RegExp(`^writing entry ${countOf(stale.lines, /^writing /) + 1} `));
  stale.signal("SIGSTOP");
  const { epoch: newer } = await nextLeader([twin], epoch);
  await twin.line(new RegExp(`^wrote entry 3 of epoch ${newer}$`));
  stale.signal("SIGCONT");

  const [, refused] = await stale.line(/^refused (entry \d+ of epoch \d+): STALE_EPOCH$/);
  await twin.line(new RegExp(`^wrote entry ${countOf(twin.lines, /^wrote /) + 2} `));
  expect(stale.lines.length).toBeGreaterThan(begun);

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

function countOf(lines: readonly string[], pattern: RegExp): number {
  return lines.filter((line) => pattern.test(line)).length;
}
