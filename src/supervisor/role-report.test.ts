import { EventEmitter } from "node:events";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ControllerWord } from "./controller-word.js";
import type { ControllerRole } from "./core/messages.js";
import { type ReportedNode, reportRole } from "./role-report.js";

/** A node whose standing a test sets by hand. */
class FakeNode extends EventEmitter implements ReportedNode {
  readonly id = "me";
  readonly handle = new EventEmitter();
  stands: ControllerRole = "STANDBY";
  leaderId: string | null = null;
  readonly words: ControllerWord[] = [];

  posture(role: string) {
    // Of any other role it knows nothing.
    if (role !== "scheduler") throw new Error(`${role} was asked for`);
    return { role: this.stands, leaderId: this.leaderId };
  }

  role() {
    const { handle } = this;
    return {
      leader: () => (this.leaderId === null ? null : { nodeId: this.leaderId }),
      on: (event: "elected" | "lost", listener: () => void) => handle.on(event, listener),
    };
  }

  get told(): readonly string[] {
    return this.words.map((word) => (word.kind === "role" ? word.role : word.kind));
  }
}

describe("a controller", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const reported = (changed: Partial<Pick<FakeNode, "stands" | "leaderId">> = {}): FakeNode => {
    const node = Object.assign(new FakeNode(), changed);
    reportRole(node, "http://here", (word) => node.words.push(word));
    return node;
  };

  it("says where it serves, and then where it stands", () => {
    const node = reported({ leaderId: "other" });
    expect(node.words).toEqual([
      { kind: "serving", node_id: "me", url: "http://here" },
      { kind: "role", role: "STANDBY" },
    ]);
  });

  it("does not say that it stands by before it knows of a leader: it may be elected at once", () => {
    const node = reported();
    vi.advanceTimersByTime(1_000);
    expect(node.told).toEqual(["serving"]);
    node.leaderId = "other";
    vi.advanceTimersByTime(100);
    expect(node.told).toEqual(["serving", "STANDBY"]);
    // Once it has said so, a leader that is gone changes nothing.
    node.leaderId = null;
    vi.advanceTimersByTime(100);
    expect(node.told).toEqual(["serving", "STANDBY"]);
  });

  it("says in the same moment that it was elected, and that its term is over", () => {
    const node = reported({ leaderId: "other" });
    Object.assign(node, { stands: "LEADER", leaderId: "me" });
    node.handle.emit("elected");
    expect(node.told.at(-1)).toBe("LEADER");
    Object.assign(node, { stands: "STANDBY", leaderId: null });
    node.handle.emit("lost");
    expect(node.told.at(-1)).toBe("STANDBY");
  });

  it.each(["me", null])("is LEADER until the term has ended, also while its gate is shut (lease of %s)", (holder) => {
    const node = reported({ stands: "LEADER", leaderId: "me" });
    Object.assign(node, { stands: "STANDBY", leaderId: holder });
    vi.advanceTimersByTime(1_000);
    expect(node.told).toEqual(["serving", "LEADER"]);
  });

  it("is LEADER from the start where its lease says so while its gate is shut", () => {
    expect(reported({ stands: "STANDBY", leaderId: "me" }).told).toEqual(["serving", "LEADER"]);
  });

  it("says at once that it drains, and soon that the drain was taken back", () => {
    const node = reported({ leaderId: "other" });
    node.stands = "DRAINING";
    node.emit("draining");
    expect(node.told.at(-1)).toBe("DRAINING");
    node.stands = "STANDBY";
    vi.advanceTimersByTime(100);
    expect(node.told.at(-1)).toBe("STANDBY");
  });

  it("says nothing more once it is put away", () => {
    const node = new FakeNode();
    reportRole(node, "http://here", (word) => node.words.push(word))[Symbol.dispose]();
    node.leaderId = "other";
    vi.advanceTimersByTime(1_000);
    expect(node.told).toEqual(["serving"]);
  });
});
