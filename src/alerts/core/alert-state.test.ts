import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AlertRule } from "./alert-rule.js";
import {
  type Advanced,
  type AlertState,
  acknowledge,
  advance,
  mostAlerts,
  resolveByHand,
  retire,
} from "./alert-state.js";
import type { Evaluation } from "./evaluate.js";
import { labelsOf } from "./labels.js";

const naming = { cluster: "main", hash: (text: string): string => `hash of ${text}` };

const rule: AlertRule = {
  name: "late",
  expression: { kind: "number", value: 0 },
  forMs: 10_000,
  severity: "warning",
  labels: { team: "ops" },
  summary: "{{ $labels.node }} is {{ $value }} s late.",
};

const holdsFor = (...nodes: readonly string[]): Evaluation => ({
  kind: "vector",
  samples: nodes.map((node) => ({
    labels: labelsOf([
      ["__name__", "age"],
      ["node", node],
    ]),
    value: 3,
  })),
});

/** What is told of the first alert by rounds of 5 s. */
function told(rounds: readonly Evaluation[], rules: readonly AlertRule[] = [rule]): readonly string[] {
  let states: readonly AlertState[] = [];
  return rounds.flatMap((evaluation, round) => {
    const advanced = advance(states, rules[round] ?? rule, evaluation, round * 5_000, naming);
    ({ states } = advanced);
    return advanced.changes.map(({ kind, at, number }) => `${kind} at ${at / 1000} (${number})`);
  });
}

const only = ({ states }: Advanced): AlertState => {
  const [state, ...more] = states;
  if (state === undefined || more.length > 0) throw new Error(`${states.length} states`);
  return state;
};

const firing = (): AlertState => only(advance([], { ...rule, forMs: 0 }, holdsFor("a"), 1_000, naming));

describe("an alert", () => {
  it("is pending until the condition has held for its time, then fires once, and is resolved by one round without it", () => {
    const yes = holdsFor("a");
    const no = holdsFor();
    expect(told([yes, yes, yes, yes, no, no])).toEqual(["firing at 10 (1)", "resolved at 20 (2)"]);
    expect(told([yes, yes, no, yes, yes, no])).toEqual([]);
    expect(told([yes], [{ ...rule, forMs: 0 }])).toEqual(["firing at 0 (1)"]);
  });

  it("counts its changes on when it fires again, also after it was only pending in between", () => {
    const yes = holdsFor("a");
    const no = holdsFor();
    expect(told([yes, yes, yes, no, yes, no, yes, yes, yes, no])).toEqual([
      "firing at 10 (1)",
      "resolved at 15 (2)",
      "firing at 40 (3)",
      "resolved at 45 (4)",
    ]);
  });

  it("is one for each series, with the labels of both and what its summary says", () => {
    const { changes } = advance([], { ...rule, forMs: 0 }, holdsFor("a", "b"), 0, naming);
    expect(changes.map(({ alert }) => alert.labels)).toEqual(
      ["a", "b"].map((node) => ({ alertname: "late", node, severity: "warning", team: "ops" })),
    );
    expect(changes.map(({ alert }) => alert.summary)).toEqual(["a is 3 s late.", "b is 3 s late."]);
    expect(new Set(changes.map(({ id }) => id)).size).toBe(2);
  });

  it("has an id that depends on the cluster, the rule and the labels, and on nothing else", () => {
    const idOf = (cluster: string, name: string, node: string, now: number, value: number): string => {
      const labels = labelsOf([["node", node]]);
      const evaluation: Evaluation = { kind: "vector", samples: [{ labels, value }] };
      return only(advance([], { ...rule, name, forMs: now }, evaluation, now, { ...naming, cluster })).id;
    };
    const id = idOf("main", "late", "a", 1, 1);
    expect(idOf("main", "late", "a", 7, 9)).toBe(id);
    expect(idOf("main", "later", "a", 1, 1)).not.toBe(id);
    expect(idOf("other", "late", "a", 1, 1)).not.toBe(id);
    expect(idOf("main", "late", "b", 1, 1)).not.toBe(id);
  });

  it("stays as it is where the condition cannot be evaluated", () => {
    const before = [firing()];
    const failed: Evaluation = { kind: "failed", reason: "two match one" };
    expect(advance(before, rule, failed, 9_000, naming)).toEqual({
      states: before,
      changes: [],
      failed: "two match one",
    });
  });

  it("is none where there would be too many, or two of the same", () => {
    const nodes = Array.from({ length: mostAlerts + 1 }, (_, index) => `n${index}`);
    expect(advance([], rule, holdsFor(...nodes), 0, naming).failed).toBe("it holds for 201 series; the limit is 200");
    const samples = ["a", "b"].map((team) => ({ labels: labelsOf([["team", team]]), value: 1 }));
    expect(advance([], rule, { kind: "vector", samples }, 0, naming).failed).toBe(
      "its own labels make two series into one alert",
    );
  });

  it("ripens also where the clock was set back", () => {
    const pending = only(advance([], rule, holdsFor("a"), 100_000, naming));
    const back = advance([pending], rule, holdsFor("a"), 50_000, naming);
    expect(advance(back.states, rule, holdsFor("a"), 60_000, naming).changes.map(({ kind }) => kind)).toEqual([
      "firing",
    ]);
  });

  it("is resolved when its rule is gone, and forgotten where it was only pending", () => {
    const pending = only(advance([], rule, holdsFor("b"), 0, naming));
    const retired = retire([firing(), pending], 5_000);
    expect(retired.changes.map(({ kind }) => kind)).toEqual(["resolved"]);
    expect(only(retired)).toMatchObject({ state: "resolved", resolvedAt: 5_000, resolvedBy: null });
  });
});

describe("by hand, an alert", () => {
  it("is acknowledged once while it fires, which says who has it and ends with it", () => {
    const first = acknowledge(firing(), "ada", 2_000);
    if (first.kind !== "changed") throw new Error(first.kind);
    expect(first.change).toMatchObject({ kind: "acknowledged", number: 2, at: 2_000 });
    expect(acknowledge(first.state, "bob", 3_000)).toEqual({ kind: "unchanged", state: first.state });
    const gone = advance([first.state], rule, holdsFor(), 5_000, naming);
    expect(gone.changes.map(({ kind, number }) => `${kind} ${number}`)).toEqual(["resolved 3"]);
    const again = advance(gone.states, { ...rule, forMs: 0 }, holdsFor("a"), 9_000, naming);
    expect(only(again)).toMatchObject({ state: "firing", acknowledged: null, firedAt: 9_000, resolvedAt: null });
  });

  it("is resolved for as long as the condition goes on to hold, and fires anew when it held again after that", () => {
    const resolved = resolveByHand(firing(), "ada", 2_000);
    if (resolved.kind !== "changed") throw new Error(resolved.kind);
    const atOnce = { ...rule, forMs: 0 };
    const still = advance([resolved.state], atOnce, holdsFor("a"), 5_000, naming);
    expect(still).toEqual({ states: [resolved.state], changes: [], failed: null });
    const gone = advance(still.states, atOnce, holdsFor(), 10_000, naming);
    expect(gone.changes).toEqual([]);
    const back = advance(gone.states, atOnce, holdsFor("a"), 15_000, naming);
    expect(back.changes.map(({ kind, number }) => `${kind} ${number}`)).toEqual(["firing 3"]);
  });

  it("can be neither where it does not fire", () => {
    const pending = only(advance([], rule, holdsFor("a"), 0, naming));
    expect(acknowledge(pending, "ada", 1)).toEqual({
      kind: "refused",
      reason: "The alert late does not fire; it is pending.",
    });
    expect(resolveByHand(pending, "ada", 1).kind).toBe("refused");
    const resolved = only(advance([firing()], rule, holdsFor(), 5_000, naming));
    expect(acknowledge(resolved, "ada", 1).kind).toBe("refused");
    expect(resolveByHand(resolved, "ada", 1)).toEqual({ kind: "unchanged", state: resolved });
  });
});

type Event = "holds" | "holds not" | "fails" | "acknowledge" | "resolve";

describe("whatever happens to an alert", () => {
  const events = fc.array(
    fc.tuple(
      fc.constantFrom<Event>("holds", "holds", "holds", "holds not", "fails", "acknowledge", "resolve"),
      fc.integer({ min: 1, max: 9_000 }),
    ),
    { maxLength: 40 },
  );

  /** One event after the other; what was told, and what was true when. */
  function live(steps: readonly (readonly [Event, number])[]): void {
    let states: readonly AlertState[] = [];
    let now = 0;
    let heldSince: number | null = null;
    let number = 0;
    let last: "nothing" | "firing" | "acknowledged" | "resolved" = "nothing";
    const allowed = {
      nothing: ["firing"],
      firing: ["acknowledged", "resolved"],
      acknowledged: ["resolved"],
      resolved: ["firing"],
    };
    for (const [event, pause] of steps) {
      now += pause;
      const changes = [];
      const [state] = states;
      if (event === "acknowledge" || event === "resolve") {
        if (state === undefined) continue;
        const done = (event === "acknowledge" ? acknowledge : resolveByHand)(state, "ada", now);
        if (done.kind === "changed") changes.push(done.change);
        if (done.kind !== "refused") states = [done.state];
      } else {
        const failed = { kind: "failed", reason: "" } as const;
        const advanced = advance(
          states,
          rule,
          event === "fails" ? failed : holdsFor(...(event === "holds" ? ["a"] : [])),
          now,
          naming,
        );
        changes.push(...advanced.changes);
        ({ states } = advanced);
        if (event === "holds") heldSince ??= now;
        if (event === "holds not") heldSince = null;
      }
      for (const change of changes) {
        number += 1;
        expect(change.number).toBe(number);
        expect(allowed[last]).toContain(change.kind);
        last = change.kind;
        if (change.kind === "firing") expect(now - (heldSince ?? now)).toBeGreaterThanOrEqual(rule.forMs);
      }
      // It fires exactly while the last thing told says so.
      expect(states[0]?.state === "firing").toBe(last === "firing" || last === "acknowledged");
      expect(states.length).toBeLessThanOrEqual(1);
      expect(JSON.parse(JSON.stringify(states))).toEqual(states);
    }
  }

  it("is told in an order that makes sense, each change once and with the next number, and no firing before its time", () => {
    fc.assert(fc.property(events, live), { numRuns: 500 });
  });

  it("comes to rest: held long enough it fires, and then not held it is resolved", () => {
    fc.assert(
      fc.property(events, (steps) => {
        let states: readonly AlertState[] = [];
        let now = 0;
        for (const [event, pause] of steps) {
          now += pause;
          if (event === "holds" || event === "holds not") {
            states = advance(states, rule, holdsFor(...(event === "holds" ? ["a"] : [])), now, naming).states;
          }
        }
        const again = advance(states, rule, holdsFor("a"), now + 1, naming);
        const fired = advance(again.states, rule, holdsFor("a"), now + 1 + rule.forMs, naming);
        expect(only(fired).state).toBe("firing");
        expect(only(advance(fired.states, rule, holdsFor(), now + 2 + rule.forMs, naming)).state).toBe("resolved");
      }),
    );
  });
});
