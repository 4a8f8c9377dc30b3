import { describe, expect, it } from "vitest";
import { readProduced } from "./produced.js";

const bounds = { stages: ["ingress", "routed"], maxBodyBytes: 100 };
const secret = "a body that nobody may see";
const good = { stage: "routed", lane: "a", body: secret };

describe("what a handler returns", () => {
  it("is nothing, or messages", () => {
    const whole = { ...good, key: "k", headers: { type: "x" } };
    expect(readProduced(undefined, bounds)).toEqual({ kind: "messages", produced: [] });
    expect(readProduced([], bounds)).toEqual({ kind: "messages", produced: [] });
    expect(readProduced([good, whole], bounds)).toEqual({ kind: "messages", produced: [good, whole] });
  });

  it("may be a message handed on, with null for the key that it has not", () => {
    const handedOn = { ...good, key: null, queue: "orders", position: 7, headers: {}, attempt: 1 };
    expect(readProduced([handedOn], bounds)).toEqual({ kind: "messages", produced: [{ ...good, headers: {} }] });
  });

  it.each([
    ["null", null, "null instead of nothing or an array"],
    ["a text", secret, "a value of type string instead of nothing or an array"],
    ["one message alone", good, "a value of type object instead of nothing or an array"],
    ["a hole", [undefined], "message 1 that the handler returned is a value of type undefined"],
    ["a text in the array", [good, secret], "message 2 that the handler returned is a value of type string"],
    ["no stage", [{ lane: "a", body: secret }], "It names no stage"],
    ["an unknown stage", [{ ...good, stage: "nowhere" }], 'Stage "nowhere" does not exist'],
    ["no lane", [{ stage: "routed", body: secret }], "The lane must be a name"],
    ["an object as body", [{ ...good, body: { secret } }], "The body must be a string or bytes"],
    ["a body that is too large", [{ ...good, body: secret.repeat(10) }], "The body has 260 bytes"],
    ["a number as key", [{ ...good, key: 7 }], "The key must be a text"],
    ["a text as headers", [{ ...good, headers: secret }], "Its headers are no object"],
    ["a number in the headers", [{ ...good, headers: { a: 7 } }], "The headers must be texts"],
    [
      "what cannot be read",
      [
        {
          get stage() {
            throw new Error(secret);
          },
        },
      ],
      "it cannot be read",
    ],
  ])("is garbage with %s, and the reason shows nothing of it", (_name, value, reason) => {
    const read = readProduced(value, bounds);
    expect(read).toMatchObject({ kind: "garbage", reason: expect.stringContaining(reason) });
    expect(JSON.stringify(read)).not.toContain(secret);
  });

  it("is read once, so that what was checked is what is taken in", () => {
    let reads = 0;
    const shifty = {
      ...good,
      get lane() {
        reads += 1;
        return reads === 1 ? "a" : "";
      },
    };
    expect(readProduced([shifty], bounds)).toMatchObject({ produced: [{ lane: "a" }] });
  });
});
