import { expect, it } from "vitest";
import { HoldfastError } from "../errors.js";
import type { RequestBook } from "../store/contract.js";
import type { NodeRequest, RequestKind, RequestOutcome } from "./node-request.js";
import { type Actions, RequestDesk } from "./request-desk.js";

const request = (id: string, kind: RequestKind): NodeRequest => ({
  id,
  kind,
  nodeId: "a" as NodeRequest["nodeId"],
  incarnation: "a-1" as NodeRequest["incarnation"],
  role: kind === "step_down" ? ("scheduler" as NodeRequest["role"]) : null,
  to: null,
  requestedBy: "test",
  requestedAt: 0,
  actedAt: null,
  outcome: null,
});

/** A desk whose book and actions the test looks into. */
function openDesk(actions: Partial<Actions> = {}, answer: RequestBook["answer"] = () => Promise.resolve()) {
  const done: string[] = [];
  const answers: [string, RequestOutcome][] = [];
  const troubles: string[] = [];
  const book: RequestBook = {
    send: () => Promise.reject(new Error("not here")),
    read: () => Promise.resolve(null),
    pending: () => Promise.reject(new HoldfastError("DATABASE_AWAY", "away")),
    answer: async (id, outcome) => {
      await answer(id, outcome);
      answers.push([id, outcome]);
    },
  };
  const desk = new RequestDesk(
    book,
    {
      drain: async () => await Promise.resolve(void done.push("drain")),
      resume: () => void done.push("resume"),
      stepDown: async (role) => await Promise.resolve(void done.push(`step down ${role}`)),
      ...actions,
    },
    (what) => troubles.push(what),
  );
  return { desk, done, answers, troubles };
}

it("acts on each request once, however often it is shown, and answers it", async () => {
  const { desk, done, answers } = openDesk();
  const asked = [request("1", "drain"), request("2", "resume"), request("3", "step_down")];
  desk.take(asked);
  desk.take(asked);
  await expect.poll(() => answers.length).toBe(3);
  expect(done.toSorted()).toEqual(["drain", "resume", "step down scheduler"]);
});

it("a refusal travels back with its reason", async () => {
  const { desk, answers } = openDesk({
    stepDown: () => Promise.reject(new HoldfastError("NOT_LEADER", "somebody else leads")),
  });
  desk.take([request("1", "step_down")]);
  await expect.poll(() => answers).toEqual([["1", { kind: "refused", message: "somebody else leads" }]]);
});

it("an answer that was lost is given again when the next beat shows the request", async () => {
  let failures = 1;
  const { desk, answers, troubles, done } = openDesk({}, () =>
    failures-- > 0 ? Promise.reject(new Error("away")) : Promise.resolve(),
  );
  desk.take([request("1", "resume")]);
  await expect.poll(() => troubles.length).toBe(1);
  desk.take([request("1", "resume")]);
  await expect.poll(() => answers).toEqual([["1", { kind: "done" }]]);
  desk.take([request("1", "resume")]);
  expect(done).toEqual(["resume"]);
});

it("a request that fails in a way nobody foresaw is refused, and told of", async () => {
  const { desk, answers, troubles } = openDesk({ drain: () => Promise.reject(new TypeError("a bug")) });
  desk.take([request("1", "drain")]);
  await expect.poll(() => answers.map(([, outcome]) => outcome.kind)).toEqual(["refused"]);
  expect(troubles).toEqual(["request 1 failed"]);
});

it("a hint that cannot be followed is told of, and the beat will do", async () => {
  const { desk, troubles } = openDesk();
  await desk.look();
  expect(troubles).toEqual(["cannot read what is asked of this node"]);
});

it("a request of a later version is refused, not ignored", async () => {
  const { desk, answers } = openDesk();
  desk.take([request("1", "dance" as RequestKind)]);
  await expect.poll(() => answers.map(([, outcome]) => outcome.kind)).toEqual(["refused"]);
});
