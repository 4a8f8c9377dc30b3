import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkGraph } from "./graph-check.js";
import { isName } from "./graph-names.js";
import type { GraphPart, InboundPart, OutboundPart, Place } from "./graph-part.js";

const file = "a.ts";
const port = (number: number, host = ""): Place => ({ kind: "port", host, port: number });
const folder = (path: string): Place => ({ kind: "folder", path });
const inbound = (name: string, router: string, takesFrom: Place | null = null): InboundPart => ({
  kind: "inbound",
  name,
  file,
  router,
  takesFrom,
});
const router = (name: string, ...handlers: readonly string[]): GraphPart => ({ kind: "router", name, file, handlers });
const handler = (name: string, ...outbounds: readonly string[]): GraphPart => ({
  kind: "handler",
  name,
  file,
  outbounds,
  references: [],
});
const outbound = (name: string, sendsTo: Place | null = null): OutboundPart => ({
  kind: "outbound",
  name,
  file,
  sendsTo,
});

const noApi = { api: null, nearest: (_written: string, [first]: readonly string[]) => first ?? null };
const problemsOf = (parts: readonly GraphPart[], api: InboundPart["takesFrom"] = null): readonly string[] =>
  checkGraph(parts, { ...noApi, api: api?.kind === "port" ? api : null }).problems;

/** in -> r -> h -> out, between two places. */
const chain = (from: Place, to: Place): readonly GraphPart[] => [
  inbound("in", "r", from),
  router("r", "h"),
  handler("h", "out"),
  outbound("out", to),
];

describe("names of a graph", () => {
  it.each(["a", "0", "adt-in", "a.b_c-d", `a${"b".repeat(62)}`])("may be %s", (name) => {
    expect(isName(name)).toBe(true);
  });

  it.each(["", "-a", ".a", "_a", "A", "a b", "a/b", "ä", `a${"b".repeat(63)}`, "a\n", undefined, null, 7, ["a"]])(
    "cannot be %j",
    (name) => {
      expect(isName(name)).toBe(false);
    },
  );

  it("are looked for among those of their kind, and the nearest of these is told", () => {
    expect(problemsOf([inbound("in", "r"), router("q")])).toEqual([
      'a.ts: inbound in.router names "r", and there is no such router: did you mean "q"?',
    ]);
    expect(problemsOf([inbound("in", "r")])).toEqual([
      'a.ts: inbound in.router names "r", and there is no such router: no router is exported.',
    ]);
    expect(problemsOf([inbound("in", "out"), outbound("out")])).toEqual([
      'a.ts: inbound in.router names "out", which is an outbound and not a router.',
    ]);
    expect(
      problemsOf([{ kind: "handler", name: "h", file, outbounds: [], references: ["wards"] }, outbound("wards")]),
    ).toEqual(['a.ts: handler h.references names "wards", which is an outbound and not a reference.']);
  });

  it("belong to one definition of a kind, and to one connection", () => {
    expect(problemsOf([router("x"), handler("x"), outbound("x")])).toEqual([]);
    expect(problemsOf([router("x"), { ...router("x"), file: "b.ts" }])).toEqual([
      "b.ts: router x is also defined in a.ts: rename one of them.",
    ]);
    expect(problemsOf([outbound("x"), outbound("x"), outbound("x")])).toHaveLength(2);
    expect(problemsOf([router("r"), inbound("x", "r"), outbound("x")])).toEqual([
      "a.ts: outbound x has the name of an inbound in the same file: rename one of the two connections.",
    ]);
  });

  it("that an object has by nature are names like any other", () => {
    expect(problemsOf([inbound("constructor", "constructor"), router("constructor")])).toEqual([]);
    expect(problemsOf([inbound("in", "constructor")])).toHaveLength(1);
  });
});

describe("ports of a graph", () => {
  const twice = (one: Place, other: Place): boolean =>
    problemsOf([router("r"), inbound("a", "r", one), inbound("b", "r", other)]).length > 0;

  it.each<[Place, Place]>([
    [port(1), port(1)],
    [port(1, "127.0.0.1"), port(1)],
    [port(1, "0.0.0.0"), port(1, "10.0.0.5")],
    [port(1, "::"), port(1, "10.0.0.5")],
    [port(1, "localhost"), port(1, "127.0.0.1")],
    [port(1, "Gate"), port(1, "gate")],
  ])("are used twice by %j and %j", (one, other) => {
    expect([twice(one, other), twice(other, one)]).toEqual([true, true]);
  });

  it.each<[Place, Place]>([
    [port(1), port(2)],
    [port(0), port(0)],
    [port(1, "10.0.0.5"), port(1, "10.0.0.6")],
    [port(1, "10.0.0.5"), port(1, "127.0.0.1")],
    [folder("/a"), folder("/a")],
  ])("are not by %j and %j", (one, other) => {
    expect([twice(one, other), twice(other, one)]).toEqual([false, false]);
  });

  it("may be the API's own, which is told as such", () => {
    const parts = [router("r"), inbound("a", "r", port(7400))];
    expect(problemsOf(parts, port(7400, "127.0.0.1"))).toEqual([
      "a.ts: inbound a listens on port 7400, which the node's API has already: choose another.",
    ]);
    expect(problemsOf(parts, port(7401, "127.0.0.1"))).toEqual([]);
  });
});

describe("a way back", () => {
  it.each<[Place, Place]>([
    [port(1), port(1, "localhost")],
    [port(1), port(1, "127.0.0.1")],
    [port(1, "0.0.0.0"), port(1, "[::1]")],
    [port(1, "10.0.0.5"), port(1, "10.0.0.5")],
    [folder("/data"), folder("/data")],
  ])("leads from an inbound at %j through an outbound to %j", (from, to) => {
    expect(problemsOf(chain(from, to))).toEqual([
      "a.ts: inbound in gets back what it took in (in -> r -> h -> out -> in), for ever: send it elsewhere.",
    ]);
  });

  it.each<[Place, Place]>([
    [port(1), port(2, "localhost")],
    [port(1), port(1, "lab.example")],
    [port(1, "10.0.0.5"), port(1, "localhost")],
    [port(0), port(0, "localhost")],
    [folder("/data/in"), folder("/data/out")],
    [folder("/data"), port(1, "localhost")],
    [port(1), folder("/data")],
  ])("does not lead from %j to %j", (from, to) => {
    expect(problemsOf(chain(from, to))).toEqual([]);
  });

  it("may go through several inbounds, and is told once", () => {
    const parts = [
      inbound("a", "r", port(1)),
      inbound("b", "s", port(2)),
      router("r", "h"),
      router("s", "i"),
      handler("h", "to-b"),
      handler("i", "to-a"),
      outbound("to-a", port(1, "localhost")),
      outbound("to-b", port(2, "localhost")),
    ];
    expect(problemsOf(parts)).toEqual([
      "a.ts: inbound a gets back what it took in (a -> r -> h -> to-b -> b -> s -> i -> to-a -> a), for ever: send it elsewhere.",
    ]);
    expect(problemsOf(parts.filter(({ name }) => name !== "to-a"))).toHaveLength(1);
  });

  it("is none where one inbound feeds another that leads elsewhere", () => {
    const parts = [
      ...chain(port(1), port(2, "localhost")),
      inbound("next", "s", port(2)),
      router("s", "end"),
      handler("end"),
    ];
    expect(problemsOf(parts)).toEqual([]);
  });
});

describe("a graph", () => {
  it("says what is not in use, and that nothing comes in", () => {
    const { problems, warnings } = checkGraph([router("r", "h"), handler("h"), outbound("out")], noApi);
    expect({ problems, warnings }).toEqual({
      problems: [],
      warnings: [
        "There is no inbound, so that nothing comes in.",
        "a.ts: router r is not in use: no inbound names it.",
        "a.ts: outbound out is not in use: no handler names it.",
      ],
    });
  });

  it("of any shape is judged, and is sound only where every name leads somewhere", () => {
    const name = fc.constantFrom("a", "b", "c", "constructor");
    const names = fc.array(name, { maxLength: 3 });
    const place = fc.option(
      fc.oneof(
        fc.record({ kind: fc.constant("port" as const), host: fc.constantFrom("", "localhost", "x"), port: fc.nat(2) }),
        fc.record({ kind: fc.constant("folder" as const), path: fc.constantFrom("/a", "/b") }),
      ),
    );
    const anyPart: fc.Arbitrary<GraphPart> = fc.oneof(
      fc.tuple(name, name, place).map(([one, other, at]) => inbound(one, other, at)),
      fc.tuple(name, names).map(([one, others]) => router(one, ...others)),
      fc.tuple(name, names).map(([one, others]) => handler(one, ...others)),
      fc.tuple(name, place).map(([one, at]) => outbound(one, at)),
    );
    fc.assert(
      fc.property(fc.array(anyPart, { maxLength: 12 }), (parts) => {
        const { problems } = checkGraph(parts, noApi);
        const has = (kind: string, wanted: string): boolean =>
          parts.some((part) => part.kind === kind && part.name === wanted);
        const leadsOn = parts.every((part) => {
          if (part.kind === "inbound") return has("router", part.router);
          if (part.kind === "router") return part.handlers.every((each) => has("handler", each));
          return part.kind !== "handler" || part.outbounds.every((each) => has("outbound", each));
        });
        expect(problems.some((line) => line.includes(" names "))).toBe(!leadsOn);
        expect(problems.every((line) => /^a\.ts: [a-z]+ /.test(line) && !line.includes("\n"))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});
