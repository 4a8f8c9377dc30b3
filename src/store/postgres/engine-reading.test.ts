import { expect, it } from "vitest";
import { EngineReading } from "./engine-reading.js";
import type { Questions } from "./questions.js";

/** A message that waits for its delivery until the moment in which somebody looks where it waits. */
function deliveredMeanwhile(): Questions {
  let isSent = false;
  const row = { id: "7", kinds: ["processed"], is_received: false, is_in_error: false };
  const place = { stage: "outbound", lane: "lab", position: "1", at: 0, detail: null };
  const answers: Readonly<Record<string, () => object[]>> = {
    "reading messages": () => [row],
    "reading where a message waits": () => {
      isSent = true;
      return [];
    },
    "reading the steps of a message": () => [
      { kind: "processed", ...place },
      ...(isSent ? [{ kind: "sent", ...place }] : []),
    ],
  };
  return {
    schema: "holdfast",
    ask: async () => await Promise.reject(new Error("nothing but rows is asked for")),
    rows: async (doing) => await Promise.resolve((answers[doing]?.() ?? []) as never[]),
  };
}

it("an account in which nothing waits any more has all that became of the message", async () => {
  const account = await new EngineReading(deliveredMeanwhile()).account("7");
  expect(account).toMatchObject({ pending: [], statuses: ["processed", "sent"] });
});
