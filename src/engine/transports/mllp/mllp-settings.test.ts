import { describe, expect, it } from "vitest";
import { checkMllpInbound, checkMllpOutbound } from "./mllp-settings.js";

describe("the settings of an MLLP inbound", () => {
  it("have defaults", () => {
    expect(checkMllpInbound({ kind: "mllp", port: 2_575 }, "adt.transport")).toEqual({
      host: "0.0.0.0",
      port: 2_575,
      tls: null,
      maxConnections: 200,
      maxFrameBytes: 16_777_216,
      maxWaitingBytes: 268_435_456,
      maxUncommitted: 1,
      maxGarbageBytes: 1_024,
      idleTimeoutMs: 3_600_000,
      readTimeoutMs: 60_000,
      writeTimeoutMs: 30_000,
    });
  });

  it("tell every problem at once", () => {
    const given = {
      kind: "mllp",
      port: "2575",
      prot: 1,
      maxConnections: 0,
      idleTimeout: 5,
      readTimeout: "0s",
      tls: { cert: "nowhere.crt", key: "test/support/tls/localhost.key", clientCertificate: "require" },
    };
    expect(checkMllpInbound(given, "adt.transport")).toEqual([
      'adt.transport has no field "prot": did you mean "port"?',
      'adt.transport.tls needs "ca", the authority of the client certificates it asks for.',
      'adt.transport names a file that is not there: tls.cert is "nowhere.crt".',
      "adt.transport.port must be a whole number from 0 to 65535.",
      "adt.transport.maxConnections must be a whole number from 1 to 10000.",
      'adt.transport.idleTimeout must be a duration like "500ms", "5s" or "1m", from 0 ms to 7 days.',
      'adt.transport.readTimeout must be a duration like "500ms", "5s" or "1m", from 1 ms to 7 days.',
    ]);
  });

  it("must be an object", () => {
    expect(checkMllpInbound(null, "adt.transport")).toContainEqual(expect.stringContaining("must be an object"));
  });

  it("take an idle timeout of none", () => {
    expect(checkMllpInbound({ kind: "mllp", port: 1, idleTimeout: "0s" }, "adt.transport")).toMatchObject({
      idleTimeoutMs: 0,
    });
  });
});

describe("the settings of an MLLP outbound", () => {
  it("have defaults", () => {
    expect(checkMllpOutbound({ kind: "mllp", host: "lab", port: 6_661 }, "lab.transport")).toEqual({
      host: "lab",
      port: 6_661,
      tls: null,
      connectTimeoutMs: 10_000,
      replyTimeoutMs: 30_000,
      maxFrameBytes: 16_777_216,
      answer: "ack",
      matchControlId: true,
    });
  });

  it("tell every problem at once", () => {
    const given = { kind: "mllp", port: 0, tls: { cert: "nowhere.crt" }, answer: "maybe", matchControlId: 1 };
    expect(checkMllpOutbound(given, "lab.transport")).toEqual([
      'lab.transport.tls needs both "cert" and "key", or neither.',
      'lab.transport names a file that is not there: tls.cert is "nowhere.crt".',
      "lab.transport.host must be a host name or an address.",
      "lab.transport.port must be a whole number from 1 to 65535.",
      'lab.transport.answer must be one of "ack", "any", "none".',
      "lab.transport.matchControlId must be true or false.",
    ]);
  });

  it("take tls: true for the certificates that this machine trusts", () => {
    expect(checkMllpOutbound({ kind: "mllp", host: "lab", port: 1, tls: true }, "lab.transport")).toMatchObject({
      tls: { ca: null, cert: null, key: null, serverName: null },
    });
  });
});
