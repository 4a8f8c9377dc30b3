import { expect, test } from "vitest";
import { messageCounts } from "./message-counts.js";

const series = (name: string, samples: readonly (readonly [string, string, number])[]): string =>
  [
    `# HELP hf_${name} What became of messages.`,
    `# TYPE hf_${name} counter`,
    ...samples.map(
      ([connection, status, value]) => `hf_${name}{connection="${connection}",status="${status}"} ${value}`,
    ),
    "",
  ].join("\n");
const own = (...samples: (readonly [string, string, number])[]) => series("engine_messages_total", samples);
const all = (...samples: (readonly [string, string, number])[]) => series("cluster_engine_messages_total", samples);
const none = { received: 0, unrouted: 0, filtered: 0, processed: 0, sent: 0, error: 0 };

test("the counts of a connection are the totals, and what this process has counted since it was taken in", () => {
  const of = messageCounts("hf_", {
    totals: all(["adt-in", "received", 1_000], ["adt-in", "filtered", 3], ["lab", "sent", 900]),
    taken: own(["adt-in", "received", 40], ["lab", "sent", 40]),
    now: own(["adt-in", "received", 47], ["lab", "sent", 40], ["lab", "error", 1]),
  });
  expect(of("adt-in")).toEqual({ ...none, received: 1_007, filtered: 3 });
  expect(of("lab")).toEqual({ ...none, sent: 900, error: 1 });
  expect(of("new")).toEqual(none);
});

test("without totals they are this process's own", () => {
  const of = messageCounts("hf_", { totals: "", taken: "", now: own(["adt-in", "received", 7]) });
  expect(of("adt-in")).toEqual({ ...none, received: 7 });
});

test("the totals are not taken back by a process that says less than it did", () => {
  const of = messageCounts("hf_", {
    totals: all(["adt-in", "received", 10]),
    taken: own(["adt-in", "received", 10]),
    now: own(["adt-in", "received", 4]),
  });
  expect(of("adt-in").received).toBe(10);
});

test("labels that an application gives to all its metrics change nothing, and neither do series of other names", () => {
  const totals = [
    'hf_cluster_engine_messages_total{connection="a b",status="sent",region="x"} 2',
    'hf_cluster_engine_messages_total{region="y",connection="a b",status="sent"} 3e3',
    'hf_cluster_engine_messages_totals{connection="a b",status="sent"} 5',
    'hf_engine_messages_total{connection="a b",status="sent"} 7',
  ].join("\n");
  expect(messageCounts("hf_", { totals, taken: "", now: "" })("a b").sent).toBe(3_002);
});
