import { describe, expect, it } from "vitest";
import { defineHandler, defineInbound, defineOutbound, defineReference, defineRouter } from "../../engine.js";
import type { Definition } from "../definition.js";
import { definitionProblems } from "./definition-check.js";

/** As JavaScript calls it: with anything. */
type Define = (given: unknown) => Definition;

const problemsOf = (define: unknown, given: unknown): readonly string[] =>
  definitionProblems({ definition: (define as Define)(given), file: "a.js", exportedAs: "thing" });

const mllp = { kind: "mllp", port: 2575 };
const toLab = { kind: "mllp", host: "lab", port: 2575 };
const route = () => [];
const csv = { kind: "file", path: "wards.csv" };

describe("what a definition is given", () => {
  it.each<[unknown, unknown]>([
    [defineInbound, { name: "x", router: "r", transport: mllp }],
    [
      defineInbound,
      {
        name: "x",
        router: "r",
        transport: mllp,
        format: "raw",
        charset: "ISO-8859-1",
        duplicates: "accept",
        acks: { mode: "enhanced", malformed: "AE" },
      },
    ],
    [defineRouter, { name: "x", handlers: ["h"], route }],
    [defineHandler, { name: "x", outbounds: [], handle: route }],
    [defineHandler, { name: "x", outbounds: ["o"], references: ["wards"], state: ["seen"], handle: route }],
    [defineOutbound, { name: "x", transport: toLab }],
    [
      defineOutbound,
      {
        name: "x",
        transport: toLab,
        lane: () => "key",
        lanes: 4,
        unconfirmed: "stop",
        retry: { attempts: 3, backoff: "500ms", cap: "5m" },
      },
    ],
    [defineOutbound, { name: "x", transport: toLab, retry: { attempts: "forever" } }],
    [defineReference, { name: "x", key: "id", from: csv, every: "1h" }],
    [defineReference, { name: "x", key: "id", from: { kind: "sql", urlFrom: "WARDS_URL", query: "select 1" } }],
    [defineReference, { name: "x", key: "id", from: { kind: "http", url: "http://x", headers: { a: "b" } } }],
  ])("may be of %o: %j", (define, given) => {
    expect(problemsOf(define, given)).toEqual([]);
  });

  it.each<[unknown, unknown, string]>([
    [
      defineInbound,
      { name: "x", transport: mllp },
      "inbound x.router must be the name of the router that gets what comes in.",
    ],
    [defineInbound, { name: "x", router: "R 2", transport: mllp }, "inbound x.router must be the name of the router"],
    [
      defineInbound,
      { name: "x", ruter: "r", router: "r", transport: mllp },
      'inbound x has no field "ruter": did you mean "router"?',
    ],
    [
      defineInbound,
      { name: "X y", router: "r", transport: mllp },
      'export thing.name must be 1 to 63 of a-z, 0-9, "_", "." and "-", with a letter or a digit first.',
    ],
    [defineInbound, { router: "r", transport: mllp }, "export thing.name must be 1 to 63"],
    [
      defineInbound,
      { name: "x", router: "r" },
      'inbound x.transport.kind must be one of "mllp", "tcp", "http", "file", "sftp", "database".',
    ],
    [
      defineInbound,
      { name: "x", router: "r", transport: { kind: "smtp" } },
      "inbound x.transport.kind must be one of ",
    ],
    [
      defineInbound,
      { name: "x", router: "r", transport: { kind: "constructor" } },
      "inbound x.transport.kind must be one of ",
    ],
    [
      defineInbound,
      { name: "x", router: "r", transport: mllp, format: "hl7v3" },
      'inbound x.format must be one of "hl7v2", "raw".',
    ],
    [
      defineInbound,
      { name: "x", router: "r", transport: mllp, duplicates: true },
      'inbound x.duplicates must be one of "answer", "accept".',
    ],
    [
      defineInbound,
      { name: "x", router: "r", transport: mllp, acks: { malformed: "AA" } },
      'inbound x.acks.malformed must be one of "AE", "AR".',
    ],
    [
      defineRouter,
      { name: "x", handlers: [], route },
      'router x.handlers must be a list of one or more names, like ["a", "b"].',
    ],
    [
      defineInbound,
      { name: "x", router: "r", transport: { kind: "mllp", port: 99_999 } },
      "inbound x.transport.port must be a whole number from 0 to 65535.",
    ],
    [
      defineInbound,
      { name: "x", router: "r", transport: mllp, charset: "latin-17" },
      'inbound x.charset must be the name of a charset, like "ISO-8859-1" or "windows-1252".',
    ],
    [
      defineOutbound,
      { name: "x", transport: { ...toLab, hots: "lab" } },
      'outbound x.transport has no field "hots": did you mean "host"?',
    ],
    [defineRouter, { name: "x", handlers: "h", route }, "router x.handlers must be a list of one or more names"],
    [defineRouter, { name: "x", handlers: ["h"] }, "router x.route must be a function of the message."],
    [
      defineRouter,
      { name: "x", handlers: ["h"], route: async () => [] },
      "router x.route must be a plain function, neither async nor a generator: it does no I/O, and nobody waits for it.",
    ],
    [
      defineHandler,
      { name: "x", outbounds: ["a b"], handle: route },
      'handler x.outbounds must be a list of names, like ["a", "b"].',
    ],
    [
      defineHandler,
      { name: "x", outbounds: [], references: "wards", handle: route },
      "handler x.references must be a list of names",
    ],
    [defineHandler, { name: "x", outbounds: [], state: [7], handle: route }, "handler x.state must be a list of names"],
    [
      defineHandler,
      {
        name: "x",
        outbounds: [],
        *handle(): Generator {
          yield 1;
        },
      },
      "handler x.handle must be a plain function",
    ],
    [
      defineOutbound,
      { name: "x", transport: toLab, lane: "key" },
      "outbound x.lane must be a function of the message.",
    ],
    [
      defineOutbound,
      { name: "x", transport: toLab, lanes: 0 },
      "outbound x.lanes must be a whole number from 1 to 256.",
    ],
    [
      defineOutbound,
      { name: "x", transport: toLab, unconfirmed: "retry" },
      'outbound x.unconfirmed must be one of "resend", "stop", "skip".',
    ],
    [
      defineOutbound,
      { name: "x", transport: toLab, retry: { attempts: 0 } },
      'outbound x.retry.attempts must be a whole number from 1 to 1000000, or "forever".',
    ],
    [
      defineOutbound,
      { name: "x", transport: toLab, retry: { backoff: 5 } },
      "outbound x.retry.backoff must be a duration",
    ],
    [
      defineReference,
      { name: "x", from: csv },
      "reference x.key must be the name of the column that a row is found by.",
    ],
    [
      defineReference,
      { name: "x", key: "id" },
      'reference x.from must be an object whose kind is "file" or "sql" or "http".',
    ],
    [
      defineReference,
      { name: "x", key: "id", from: { kind: "file" } },
      "reference x.from.path must be the path of a file.",
    ],
    [
      defineReference,
      { name: "x", key: "id", from: { kind: "file", path: "a", url: "b" } },
      'reference x.from has no field "url"',
    ],
    [
      defineReference,
      { name: "x", key: "id", from: { ...csv, format: "xml" } },
      'reference x.from.format must be one of "csv", "json".',
    ],
    [
      defineReference,
      { name: "x", key: "id", from: { kind: "http", url: "http://u", headers: { a: 1 } } },
      "reference x.from.headers must be texts by name.",
    ],
    [
      defineReference,
      { name: "x", key: "id", from: { kind: "sql", urlFrom: "postgres://me:secret@db/x", query: "select 1" } },
      "reference x.from.urlFrom must be the name of a variable of the environment",
    ],
    [
      defineReference,
      { name: "x", key: "id", from: { kind: "http", url: "wards" } },
      "reference x.from.url must be an address that begins with http:// or https://.",
    ],
    [
      defineInbound,
      {
        name: "x",
        router: "r",
        transport: { kind: "sftp", host: "h", username: "u", folder: "/in", insecureHostKey: true },
      },
      'inbound x.transport needs one of "passwordFrom", "privateKey" and "privateKeyFrom".',
    ],
    [
      defineOutbound,
      { name: "x", transport: { kind: "database", urlFrom: "LAB_URL", statement: "insert into t values (:nothing)" } },
      "outbound x.transport.statement must be made with :body",
    ],
    [defineReference, { name: "x", key: "id", from: csv, every: "1ms" }, "reference x.every must be a duration"],
  ])("of %o is refused in one line where it is %j", (define, given, said) => {
    const problems = problemsOf(define, given);
    expect(problems).toEqual([expect.stringMatching(/^a\.js: .+[.?]$/)]);
    expect(problems[0]).toContain(`a.js: ${said}`);
  });

  it("is refused with all that is wrong at once", () => {
    expect(problemsOf(defineHandler, { nam: "x", handle: 7, outbounds: 7 })).toEqual([
      'a.js: export thing has no field "nam": did you mean "name"?',
      'a.js: export thing.name must be 1 to 63 of a-z, 0-9, "_", "." and "-", with a letter or a digit first.',
      'a.js: export thing.outbounds must be a list of names, like ["a", "b"].',
      "a.js: export thing.handle must be a function of the message.",
    ]);
  });

  it.each([defineInbound, defineRouter, defineHandler, defineOutbound, defineReference])(
    "may be nothing at all, for %o",
    (define) => {
      for (const given of [undefined, null, "text", 7, []]) expect(problemsOf(define, given).length).toBeGreaterThan(0);
    },
  );
});
