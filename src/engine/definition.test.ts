import { describe, expect, it } from "vitest";
import { defineHandler, defineInbound, defineOutbound, defineReference, defineRouter, send } from "../engine.js";
import { definitionsMadeBy, isDefinition } from "./definition.js";
import type {
  MllpInboundOptions,
  MllpOutboundOptions,
  TcpInboundOptions,
  TcpOutboundOptions,
} from "./transport-options.js";
import type { linkFields } from "./transports/tcp/link-settings.js";
import type { listenerFields } from "./transports/tcp/listener-settings.js";

describe("a definition", () => {
  it("is taken down as it was given, and nobody changes it any more", () => {
    const transport = { kind: "mllp" as const, port: 2575 };
    const inbound = defineInbound({ name: "adt-in", router: "adt", transport });
    expect(inbound).toEqual({
      kind: "inbound",
      name: "adt-in",
      router: "adt",
      transport: { kind: "mllp", port: 2575 },
    });
    transport.port = 1;
    expect(inbound.transport).toHaveProperty("port", 2575);
    expect(Object.isFrozen(inbound) && Object.isFrozen(inbound.transport)).toBe(true);
  });

  it("is told from things that look like one", () => {
    const inbound = defineInbound({ name: "a", router: "b", transport: { kind: "mllp", port: 1 } });
    expect(isDefinition(inbound)).toBe(true);
    expect(isDefinition({ ...inbound })).toBe(false);
    expect(isDefinition(null)).toBe(false);
  });

  it.each([defineInbound, defineRouter, defineHandler, defineOutbound, defineReference])(
    "does not throw, whatever it is given: %o",
    (define) => {
      for (const given of [undefined, null, 7, "text", [], {}, { name: 7 }]) {
        expect(isDefinition((define as (given: unknown) => unknown)(given))).toBe(true);
      }
    },
  );

  it("is seen by whoever watches, also where it is made within", () => {
    const outer = definitionsMadeBy(() => {
      defineRouter({ name: "one", handlers: [], route: () => [] });
      const inner = definitionsMadeBy(() => void defineRouter({ name: "two", handlers: [], route: () => [] }));
      expect(inner.map(({ name }) => name)).toEqual(["two"]);
    });
    expect(outer.map(({ name }) => name)).toEqual(["one"]);
    expect(() =>
      definitionsMadeBy(() => {
        throw new Error("broken module");
      }),
    ).toThrow("broken module");
    defineRouter({ name: "three", handlers: [], route: () => [] });
    expect(outer).toHaveLength(1);
  });
});

/** Checked by the compiler: each expected error that is none fails `npm run check`. */
describe("the types of definitions", () => {
  it("let only declared names be routed to, sent to and read", () => {
    const router = defineRouter({
      name: "adt",
      handlers: ["to-lab", "to-ward"],
      route: (message) => (message.type.startsWith("ADT") ? ["to-lab", "to-ward"] : []),
    });
    // @ts-expect-error: "to-lob" is not declared.
    defineRouter({ name: "adt", handlers: ["to-lab"], route: () => ["to-lob"] });
    const handler = defineHandler({
      name: "to-lab",
      outbounds: ["lab", "archive"],
      references: ["wards"],
      state: ["counters"],
      handle: (message, { reference, state }) => {
        state("counters").set("seen", 1);
        // @ts-expect-error: "words" is not declared.
        reference("words");
        // @ts-expect-error: "count" is not declared.
        state("count");
        return reference("wards").has("W1") ? [send("lab", message.body)] : [send("archive", "text", { key: "k" })];
      },
    });
    // @ts-expect-error: "lob" is not declared.
    defineHandler({ name: "to-lab", outbounds: ["lab"], handle: () => [send("lob", "")] });
    // @ts-expect-error: no reference set is declared.
    defineHandler({ name: "x", outbounds: [], handle: (_message, context) => [context.reference("wards")] });
    // @ts-expect-error: a handler does no I/O, so it need not be waited for.
    defineHandler({ name: "x", outbounds: ["lab"], handle: async () => [send("lab", "")] });
    expect([router.handlers, handler.outbounds]).toEqual([
      ["to-lab", "to-ward"],
      ["lab", "archive"],
    ]);
  });

  it("let a transport have only the fields of its kind", () => {
    // @ts-expect-error: a folder is no field of MLLP.
    defineInbound({ name: "a", router: "b", transport: { kind: "mllp", port: 1, folder: "in" } });
    // @ts-expect-error: a port must be there.
    defineInbound({ name: "a", router: "b", transport: { kind: "mllp" } });
    // @ts-expect-error: an outbound needs a host.
    defineOutbound({ name: "a", transport: { kind: "mllp", port: 1 } });
    // @ts-expect-error: there is no such kind.
    defineOutbound({ name: "a", transport: { kind: "smtp", host: "x" } });
    // @ts-expect-error: a duration has a unit.
    defineReference({ name: "a", key: "id", from: { kind: "file", path: "a.csv" }, every: "5" });
    // @ts-expect-error: an encoding is no field of a file.
    defineOutbound({ name: "a", transport: { kind: "file", folder: "/out", encoding: "utf8" } });
    // @ts-expect-error: an inbound needs a router.
    expect(defineInbound({ name: "a", transport: { kind: "mllp", port: 1 } })).not.toHaveProperty("router");
  });
});

describe("the options of a transport", () => {
  it("are the fields that its check knows, no more and no fewer", () => {
    type Listener = (typeof listenerFields)[number];
    type Link = (typeof linkFields)[number];
    const same: readonly true[] = [
      true satisfies Same<keyof MllpInboundOptions, Listener | "maxGarbageBytes">,
      true satisfies Same<keyof MllpOutboundOptions, Link | "answer" | "matchControlId">,
      true satisfies Same<keyof TcpInboundOptions, Listener | "framing" | "answer">,
      true satisfies Same<keyof TcpOutboundOptions, Link | "framing" | "waitForAnswer" | "expect">,
    ];
    expect(same).toHaveLength(4);
  });
});

type Same<One, Other> = [One, Other] extends [Other, One] ? true : false;

describe("send", () => {
  it("keeps the bytes as they were at the call", () => {
    const bytes = Buffer.from("before");
    const wish = send("lab", bytes);
    bytes.write("after!");
    expect(Buffer.from(wish.body).toString()).toBe("before");
    expect(send("lab", "é").body).toEqual(Buffer.from("é"));
    expect(send("lab", { toBytes: () => Buffer.from("own") }, { key: "P1" })).toEqual({
      outbound: "lab",
      body: Buffer.from("own"),
      key: "P1",
    });
  });

  it.each([
    [[7, "x"], "the first argument must be the name of an outbound."],
    [["lab", { a: 1 }], "the body must be a text, bytes or an HL7 message"],
    [["lab", null], "the body must be a text, bytes or an HL7 message"],
    [["lab", "x", { key: "" }], "the key must be a text of 1 to 100 printable characters."],
    [["lab", "x", { key: "a\nb" }], "the key must be a text of 1 to 100 printable characters."],
  ])("refuses %j in one line", (given, said) => {
    expect(() => (send as (...given: readonly unknown[]) => unknown)(...given)).toThrow(said);
  });
});
