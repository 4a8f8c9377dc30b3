import { expect, it } from "vitest";
import { createTestDatabase } from "../support/postgres.js";
import { type ExampleProcess, heirWaits, nextLeader, startExample } from "./example-process.js";

/** What was sent of an account, each for the first time. */
function firstsOf(account: string, ...replicas: readonly ExampleProcess[]): readonly number[] {
  const sent = replicas.flatMap(({ lines }) =>
    lines.flatMap((line) => line.match(new RegExp(`^sent ${account} (\\d+) under`))?.[1] ?? []),
  );
  return [...new Set(sent.map(Number))];
}

it("two replicas of the payments: the sender is killed, the other goes on in order, and loses none", async () => {
  await using database = await createTestDatabase();
  await using first = startExample("ordered-queue", database.url);
  await using second = startExample("ordered-queue", database.url);
  const { replica: leader, epoch } = await nextLeader([first, second]);
  const standby = leader === first ? second : first;
  await leader.line(/^sent a 5 under epoch/);
  await heirWaits(database.url);
  await leader.end("SIGKILL");
  await nextLeader([standby], epoch);
  await standby.line(/^redriven after approval: 1$/);
  await standby.line(/^sent b 3 under epoch/);

  const all = Array.from({ length: 200 }, (_, index) => index + 1);
  for (const account of ["a", "c"]) expect(firstsOf(account, leader, standby)).toEqual(all);
  expect(firstsOf("b", leader, standby)).toEqual([...all.filter((number) => number !== 3), 3]);
  // The one that was killed had more to send.
  expect(firstsOf("a", leader).length).toBeLessThan(200);
});
