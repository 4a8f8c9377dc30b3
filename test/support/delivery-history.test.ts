import { describe, expect, it } from "vitest";
import { type Delivery, type DeliveryHistory, repetitionsOf, violationsOf } from "./delivery-history.js";

type Told = Partial<Delivery> & { readonly number: number };

/** Deliveries in one lane of one stage, a millisecond apart unless they say when. */
function deliveries(...told: readonly Told[]): readonly Delivery[] {
  return told.map((one, index) => ({
    stage: "ingress",
    lane: "a",
    position: one.number,
    epoch: 1,
    attempt: 1,
    at: index,
    failed: false,
    ...one,
  }));
}

function history(told: readonly Told[], rest: Partial<DeliveryHistory> = {}): DeliveryHistory {
  const highest = new Map([["a", Math.max(...told.map(({ number }) => number))]]);
  return {
    stages: ["ingress"],
    sent: highest,
    acknowledged: highest,
    deliveries: deliveries(...told),
    freezes: [],
    lostTrack: new Set(),
    batch: 2,
    ...rest,
  };
}

const kindsOf = (judged: DeliveryHistory) => violationsOf(judged).map(({ kind }) => kind);
const upTo = (number: number) => new Map([["a", number]]);

describe("a history of deliveries keeps the promises", () => {
  it("where each message came once, in order", () => {
    expect(kindsOf(history([{ number: 1 }, { number: 2 }, { number: 3 }]))).toEqual([]);
  });

  it("where a failed message was tried again before the next", () => {
    expect(kindsOf(history([{ number: 1, failed: true }, { number: 1, attempt: 2 }, { number: 2 }]))).toEqual([]);
  });

  it("where the next leader repeated no more of a lane than a claim, from the first that was not settled", () => {
    const judged = history([
      { number: 1 },
      { number: 2 },
      { number: 3 },
      { number: 2, epoch: 2 },
      { number: 3, epoch: 2 },
      { number: 4, epoch: 2 },
    ]);
    expect(kindsOf(judged)).toEqual([]);
    expect(repetitionsOf(judged)).toEqual(new Map([[2, { messages: 2, lanes: 1 }]]));
  });

  it("where the next leader went on with a message that had failed, which is no repetition", () => {
    const judged = history([
      { number: 1, failed: true },
      { number: 1, epoch: 2, attempt: 2 },
    ]);
    const inFlight = [{ stage: "ingress", lane: "a", done: 0, claimed: 0 }];
    expect(kindsOf({ ...judged, freezes: [{ epoch: 1, inFlight }] })).toEqual([]);
    expect(repetitionsOf(judged)).toEqual(new Map());
  });

  it("where something was delivered that was sent, and whose acknowledgement was never heard", () => {
    expect(kindsOf(history([{ number: 1 }, { number: 2 }], { acknowledged: upTo(1) }))).toEqual([]);
  });

  it("where lanes do not wait for each other", () => {
    const lanes = new Map([
      ["a", 1],
      ["b", 2],
    ]);
    const told = [{ number: 1, lane: "b" }, { number: 2, lane: "b" }, { number: 1 }];
    expect(kindsOf(history(told, { sent: lanes, acknowledged: lanes }))).toEqual([]);
  });

  it("where a freeze caught one handler at its start, whose call is seen when another leads", () => {
    const told = [{ number: 1 }, { number: 2, epoch: 2 }, { number: 2, epoch: 1 }];
    const frozen = { epoch: 1, inFlight: null };
    expect(kindsOf(history(told, { freezes: [frozen] }))).toEqual([]);
  });
});

describe("a history of deliveries is refused", () => {
  it("when an acknowledged message is missing", () => {
    expect(kindsOf(history([{ number: 1 }, { number: 2 }], { sent: upTo(3), acknowledged: upTo(3) }))).toEqual([
      "lost",
    ]);
  });

  it("when a lane is missing as a whole", () => {
    const acknowledged = new Map([
      ["a", 1],
      ["b", 1],
    ]);
    expect(kindsOf(history([{ number: 1 }], { sent: acknowledged, acknowledged }))).toEqual(["lost"]);
  });

  it("when an acknowledged message got stuck between two stages", () => {
    expect(kindsOf(history([{ number: 1 }], { stages: ["ingress", "outbound"] }))).toEqual(["lost"]);
  });

  it("when something is delivered that nobody sent", () => {
    expect(kindsOf(history([{ number: 1 }, { number: 2 }], { sent: upTo(1), acknowledged: upTo(1) }))).toEqual([
      "invented",
    ]);
  });

  it("when two messages change places", () => {
    expect(kindsOf(history([{ number: 2 }, { number: 1 }]))).toContain("inverted");
  });

  it("when the places are changed by a failover", () => {
    const told = [{ number: 1 }, { number: 3, epoch: 2 }, { number: 2, epoch: 3 }];
    expect(kindsOf(history(told))).toContain("inverted");
  });

  it("when a leader slides past a message, though another had delivered that before", () => {
    const told = [{ number: 1 }, { number: 2 }, { number: 3 }, { number: 1, epoch: 2 }, { number: 3, epoch: 2 }];
    expect(kindsOf(history(told))).toEqual(["inverted"]);
  });

  it("by the times of the deliveries, in whatever order they are told", () => {
    expect(
      kindsOf(
        history([
          { number: 1, at: 5 },
          { number: 2, at: 4 },
        ]),
      ),
    ).toContain("inverted");
    expect(
      kindsOf(
        history([
          { number: 2, at: 5 },
          { number: 1, at: 4 },
        ]),
      ),
    ).toEqual([]);
  });

  it("when a message is in two places", () => {
    expect(kindsOf(history([{ number: 1 }, { number: 1, position: 2, epoch: 2 }]))).toEqual(["doubled"]);
  });

  it("when a leader repeats what had not failed, at once or later", () => {
    expect(kindsOf(history([{ number: 1 }, { number: 1 }]))).toEqual(["repeated"]);
    expect(kindsOf(history([{ number: 1 }, { number: 2 }, { number: 1 }]))).toEqual(["repeated"]);
    const told = [{ number: 1 }, { number: 2 }, { number: 1 }, { number: 2 }];
    expect(kindsOf(history(told, { lostTrack: new Set([1]) }))).toEqual([]);
    expect(kindsOf(history(told, { lostTrack: new Set([2]) }))).toContain("repeated");
    expect(kindsOf(history(told, { lostTrack: new Set([1]), batch: 1 }))).toContain("repeated");
  });

  it("when the next leader repeats more of a lane than one claim", () => {
    const first = [{ number: 1 }, { number: 2 }, { number: 3 }];
    const again = first.map((one) => ({ ...one, epoch: 2 }));
    expect(kindsOf(history([...first, ...again]))).toEqual(["beyond_bound"]);
    expect(kindsOf(history([...first, ...again.slice(1)]))).toEqual([]);
  });

  it("when the next leader repeats what was settled, where that is known", () => {
    const told = [{ number: 1 }, { number: 2 }, { number: 2, epoch: 2 }];
    const freezeAt = (done: number, claimed: number) => ({
      freezes: [{ epoch: 1, inFlight: [{ stage: "ingress", lane: "a", done, claimed }] }],
    });
    expect(kindsOf(history(told, freezeAt(1, 2)))).toEqual([]);
    expect(kindsOf(history(told, freezeAt(2, 2)))).toEqual(["beyond_bound"]);
    expect(kindsOf(history(told, freezeAt(0, 1)))).toEqual(["beyond_bound"]);
    expect(kindsOf(history(told, { freezes: [{ epoch: 1, inFlight: [] }] }))).toEqual(["beyond_bound"]);
  });

  it("when a crash costs an attempt", () => {
    expect(kindsOf(history([{ number: 1 }, { number: 1, epoch: 2, attempt: 2 }]))).toEqual(["attempt_spent"]);
  });

  it("when a deposed leader begins a delivery after a later one has delivered, in that lane or another", () => {
    expect(
      kindsOf(
        history([
          { number: 1, epoch: 2 },
          { number: 1, epoch: 1 },
        ]),
      ),
    ).toEqual(["stale"]);
    const lanes = new Map([
      ["a", 1],
      ["b", 1],
    ]);
    const told = [
      { number: 1, epoch: 2 },
      { number: 1, lane: "b" },
    ];
    expect(kindsOf(history(told, { sent: lanes, acknowledged: lanes }))).toEqual(["stale"]);
  });

  it("when a leader that was frozen begins more than the one delivery that the freeze may have caught", () => {
    const told = [{ number: 1 }, { number: 2, epoch: 2 }, { number: 2 }, { number: 3 }];
    expect(kindsOf(history(told, { freezes: [{ epoch: 1, inFlight: null }] }))).toEqual(["stale"]);
  });
});
