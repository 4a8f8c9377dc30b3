import { describe, expect, it } from "vitest";
import { statusesOfAccount } from "./engine-status.js";

const dead = { redrivenAt: null };

describe("the statuses of a message's account", () => {
  it("are of what its account shows, also where its row was read a moment before", () => {
    expect(statusesOfAccount(["received"], [], [dead])).toEqual(["error"]);
    expect(statusesOfAccount(["routed"], [{ kind: "filtered" }, { kind: "sent" }], [])).toEqual(["filtered", "sent"]);
    expect(statusesOfAccount(["error"], [], [{ redrivenAt: 1 }])).toEqual(["routed"]);
  });

  it("are as before where nothing came in between", () => {
    expect(statusesOfAccount(["received"], [], [])).toEqual(["received"]);
    expect(statusesOfAccount(["routed"], [], [])).toEqual(["routed"]);
    expect(statusesOfAccount(["sent", "error"], [{ kind: "sent" }], [dead])).toEqual(["sent", "error"]);
  });
});
