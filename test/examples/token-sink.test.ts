import { expect, it } from "vitest";
import { createTestDatabase } from "../support/postgres.js";
import { heirWaits, nextLeader, startExample } from "./example-process.js";

it("the sink takes the new leader's token, and from then on none of the old leader's", async () => {
  await using database = await createTestDatabase();
  await using sink = startExample("token-sink", "sink");
  const [, address = ""] = await sink.line(/^listening on (.*)$/);
  await using first = startExample("token-sink", "sender", address, database.url);
  await using second = startExample("token-sink", "sender", address, database.url);

  const { replica: old, epoch } = await nextLeader([first, second]);
  await sink.line(new RegExp(`^accepted epoch ${epoch} of notifier$`));
  await heirWaits(database.url);
  await old.end("SIGKILL");
  const heir = old === first ? second : first;
  const { epoch: newer } = await nextLeader([heir], epoch);
  await sink.line(new RegExp(`^accepted epoch ${newer} of notifier$`));

  // A request of the old leader that took its time on the way.
  const late = await send(address, epoch);
  expect(late.status).toBe(409);
  expect(await late.text()).toContain("STALE_EPOCH");
  expect((await send(address, newer)).status).toBe(204);

  const accepted = sink.lines.flatMap((line) => line.match(/^accepted epoch (\d+) /)?.[1] ?? []).map(Number);
  expect(accepted).toEqual(accepted.toSorted((a, b) => a - b));
});

async function send(address: string, epoch: number): Promise<Response> {
  return await fetch(address, { method: "POST", headers: { "x-role": "notifier", "x-epoch": String(epoch) } });
}
