import { expect, it } from "vitest";
import { createTestDatabase, withClient } from "../support/postgres.js";
import { heirWaits, nextLeader, startExample } from "./example-process.js";

interface Message {
  readonly nonce: number;
  readonly payload: string;
}

it("senders that are killed in the middle leave no gap and no duplicate at the receiver", async () => {
  await using database = await createTestDatabase();
  // It answers late, so that a sender killed at "took" dies without knowing whether its message arrived.
  await using sink = startExample("nonce-sender", "sink", "0", "200");
  const [, address = ""] = await sink.line(/^listening on (.*)$/);
  await using first = startExample("nonce-sender", "sender", address, database.url);
  await using second = startExample("nonce-sender", "sender", address, database.url);
  await using third = startExample("nonce-sender", "sender", address, database.url);
  let standing = [first, second, third];

  let last = 0;
  const inDoubt: string[] = [];
  for (let killed = 0; killed < 2; killed += 1) {
    const { replica, epoch } = await nextLeader(standing, last);
    await replica.line(/^sent \d+$/);
    await heirWaits(database.url);
    const seen = takenIn(sink.lines);
    await sink.line(new RegExp(`^took ${seen + 1} under epoch ${epoch}$`));
    await replica.end("SIGKILL");
    // The last of its epoch: on a busy machine it may have come to more before its end.
    const nonces = sink.lines.flatMap(
      (line) => line.match(new RegExp(`^took (\\d+) under epoch ${epoch}$`))?.[1] ?? [],
    );
    inDoubt.push(nonces.at(-1) ?? "");
    standing = standing.filter((other) => other !== replica);
    last = epoch;
  }
  const { replica: survivor, epoch } = await nextLeader(standing, last);
  await sink.line(new RegExp(`^took ${takenIn(sink.lines) + 3} under epoch ${epoch}$`));
  await survivor.end("SIGTERM");

  // What was pending at a crash was sent again, which is why the receiver has to know nonces.
  const resent = sink.lines.flatMap((line) => line.match(/^duplicate (\d+) /)?.[1] ?? []);
  expect(resent.length).toBeGreaterThan(0);
  expect(inDoubt).toEqual(expect.arrayContaining(resent));
  expect(sink.lines.filter((line) => line.startsWith("gap"))).toEqual([]);

  const taken = (await (await fetch(address)).json()) as readonly Message[];
  const outbox = await withClient(database.url, async (client) => {
    const { rows } = await client.query<Message & { status: string }>(
      "select nonce::integer, payload, status from outbox order by nonce",
    );
    return rows;
  });
  expect(taken.map((message) => message.nonce)).toEqual(taken.map((_, index) => index + 1));
  expect(outbox.map((message) => message.nonce)).toEqual(outbox.map((_, index) => index + 1));
  // Each nonce arrived with the content that was committed under it; at most the last one is still on its way.
  expect(taken.map(({ nonce, payload }) => ({ nonce, payload }))).toEqual(
    outbox.slice(0, taken.length).map(({ nonce, payload }) => ({ nonce, payload })),
  );
  expect(outbox.length - taken.length).toBeLessThanOrEqual(1);
  expect(outbox.filter((message) => message.status === "pending").length).toBeLessThanOrEqual(1);
});

function takenIn(lines: readonly string[]): number {
  return lines.filter((line) => line.startsWith("took ")).length;
}
