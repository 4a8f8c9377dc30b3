import { describe, expect, it } from "vitest";
import {
  type ArrivedMessage,
  type EngineHistory,
  type Fault,
  type ReceiverLink,
  repetitionsOf,
  type SentMessage,
  violationsOf,
} from "./engine-history.js";

/** Two leaders: the one at place 1 is killed at 100, and the one at place 2 goes on. */
const killed: Fault = { kind: "kill", place: 1, at: 100 };
const first: ReceiverLink = { id: 1, outbound: "lab", place: 1, openedAt: 0 };
const second: ReceiverLink = { id: 2, outbound: "lab", place: 2, openedAt: 120 };

function sent(number: number, more: Partial<SentMessage> = {}): SentMessage {
  const sentAt = number * 10;
  return { controlId: `m${number}`, inbound: "adt", key: "p", goesTo: ["lab"], sentAt, ackedAt: sentAt + 5, ...more };
}

function came(number: number, link: ReceiverLink, more: Partial<ArrivedMessage> = {}): ArrivedMessage {
  return { controlId: `m${number}`, link, at: link.openedAt + number, intact: true, ...more };
}

function historyOf(
  messages: readonly SentMessage[],
  arrived: readonly ArrivedMessage[],
  more: Partial<EngineHistory> = {},
): EngineHistory {
  const byId = new Map(messages.map((message) => [message.controlId, message]));
  return { sent: byId, arrived, faults: [killed], lanes: new Map([["lab", 1]]), ...more };
}

const kindsOf = (history: EngineHistory): readonly string[] => violationsOf(history).map(({ kind }) => kind);

describe("the judge of a graph's history", () => {
  const three = [sent(1), sent(2), sent(3)];

  it("is content with what came once and in order, and with the one in flight at a fault that came twice", () => {
    const history = historyOf(three, [came(1, first), came(2, first), came(2, second), came(3, second)]);
    expect(violationsOf(history)).toEqual([]);
    expect(repetitionsOf(history).explained).toEqual([{ fault: killed, outbound: "lab", controlId: "m2" }]);
  });

  it("is content with what was in flight at two faults", () => {
    const third: ReceiverLink = { ...first, id: 3, openedAt: 220 };
    const faults: readonly Fault[] = [killed, { kind: "freeze", place: 2, at: 200 }];
    const arrived = [came(1, first), came(2, first), came(2, second), came(2, third), came(3, third)];
    expect(violationsOf(historyOf(three, arrived, { faults }))).toEqual([]);
  });

  it("misses what was acknowledged and is not there, at each place that it was meant for", () => {
    expect(kindsOf(historyOf(three, [came(1, first), came(3, second)]))).toEqual(["lost"]);
    const both = [sent(1, { goesTo: ["lab", "archive"] })];
    expect(violationsOf(historyOf(both, [came(1, first)]))).toEqual([
      { kind: "lost", text: "m1 was acknowledged, and did not come to archive" },
    ]);
    expect(kindsOf(historyOf([sent(1, { ackedAt: null })], []))).toEqual(["unanswered"]);
  });

  it("sees what nobody sent, what was not meant for there, and what was changed on its way", () => {
    expect(kindsOf(historyOf([], [came(1, first)]))).toEqual(["invented"]);
    expect(kindsOf(historyOf([sent(1, { goesTo: [] })], [came(1, first)]))).toEqual(["invented"]);
    expect(kindsOf(historyOf([sent(1)], [came(1, first, { intact: false })]))).toEqual(["altered"]);
  });

  it("sees what overtook another that had been acknowledged before it was sent", () => {
    expect(violationsOf(historyOf(three, [came(2, first), came(1, first), came(3, second)]))).toEqual([
      { kind: "inverted", text: "adt -> lab: m2 came before m1" },
    ]);
    // Far apart as well.
    expect(kindsOf(historyOf(three, [came(2, first), came(3, first), came(1, second)]))).toEqual([
      "inverted",
      "inverted",
    ]);
  });

  it("asks for no order among those that were under way at a time, of two inbounds, or of two keys", () => {
    const swapped = [came(2, first), came(1, first)];
    expect(kindsOf(historyOf([sent(1, { ackedAt: 25 }), sent(2)], swapped))).toEqual([]);
    expect(kindsOf(historyOf([sent(1), sent(2, { inbound: "orders" })], swapped))).toEqual([]);
    const keyed = [sent(1), sent(2, { key: "q" })];
    expect(kindsOf(historyOf(keyed, swapped, { lanes: new Map([["lab", 4]]) }))).toEqual([]);
    expect(kindsOf(historyOf(keyed, swapped))).toEqual(["inverted"]);
  });

  it("does not take a repetition without a fault, nor over one connection", () => {
    const again = [came(1, first), came(1, second)];
    expect(kindsOf(historyOf([sent(1)], again, { faults: [] }))).toEqual(["repeated"]);
    // Before the connection was there, after the next one was there, or of another node.
    for (const fault of [
      { ...killed, at: -1 },
      { ...killed, at: 121 },
      { ...killed, place: 2 },
    ]) {
      expect(kindsOf(historyOf([sent(1)], again, { faults: [fault] }))).toEqual(["repeated"]);
    }
    expect(kindsOf(historyOf([sent(1)], [came(1, first), came(1, first)]))).toEqual(["repeated"]);
  });

  it("does not take a repetition of what was finished before the fault, or begun after the next leader's first", () => {
    expect(kindsOf(historyOf(three, [came(1, first), came(2, first), came(1, second), came(3, second)]))).toEqual([
      "repeated",
    ]);
    expect(kindsOf(historyOf(three, [came(1, first), came(2, first), came(3, second), came(2, second)]))).toEqual([
      "repeated",
    ]);
  });

  it("takes one repetition a lane and fault, and not two", () => {
    const [a, b] = [first, { ...first, id: 3 }];
    const [c, d] = [
      { ...second, id: 4 },
      { ...second, id: 5 },
    ];
    const arrived = [came(1, a), came(2, b), came(1, c), came(2, d)];
    const messages = [sent(1), sent(2, { key: "q" })];
    expect(kindsOf(historyOf(messages, arrived))).toEqual(["beyond_bound"]);
    expect(kindsOf(historyOf(messages, arrived, { lanes: new Map([["lab", 2]]) }))).toEqual([]);
  });

  it("sees what a deposed leader wrote after its successor had begun, and forgives the one that was in flight", () => {
    const overlapping = [sent(1), sent(2, { ackedAt: 500 }), sent(3)];
    expect(kindsOf(historyOf(overlapping, [came(1, first), came(3, second), came(2, first)]))).toEqual(["stale"]);
    expect(kindsOf(historyOf(three, [came(1, first), came(2, second), came(2, first), came(3, second)]))).toEqual([]);
    // Who was not hit by anything leads, whatever other connections there are.
    expect(kindsOf(historyOf(overlapping, [came(1, first), came(3, second), came(2, first)], { faults: [] }))).toEqual(
      [],
    );
  });
});
