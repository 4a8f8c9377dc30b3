import { describe, expect, it } from "vitest";
import { checkTcpInbound, checkTcpOutbound } from "./tcp-settings.js";

const lines = { kind: "delimiter", delimiter: "\n" };

describe("the settings of a TCP inbound", () => {
  it("have defaults", () => {
    expect(checkTcpInbound({ kind: "tcp", port: 5_000, framing: lines }, "in.transport")).toMatchObject({
      host: "0.0.0.0",
      port: 5_000,
      tls: null,
      maxConnections: 200,
      maxFrameBytes: 16_777_216,
      maxWaitingBytes: 268_435_456,
      maxUncommitted: 1,
      idleTimeoutMs: 3_600_000,
      readTimeoutMs: 60_000,
      writeTimeoutMs: 30_000,
      answer: null,
    });
  });

  it.each([
    [
      { framing: undefined },
      'in.transport.framing must be { kind: "delimiter", delimiter: "\\n" } or { kind: "length", bytes: 4 }.',
    ],
    [
      { framing: null },
      'in.transport.framing must be { kind: "delimiter", delimiter: "\\n" } or { kind: "length", bytes: 4 }.',
    ],
    [
      { framing: { kind: "delimiter" } },
      "in.transport.framing.delimiter must be a text or bytes, from 1 to 1024 long.",
    ],
    [
      { framing: { kind: "delimiter", delimiter: "" } },
      "in.transport.framing.delimiter must be a text or bytes, from 1 to 1024 long.",
    ],
    [{ framing: { kind: "length" } }, "in.transport.framing.bytes must be 1, 2 or 4: how many bytes the length has."],
    [{ framing: { kind: "length", bytes: 3 } }, "in.transport.framing.bytes must be one of 1, 2, 4."],
    [{ framing: { ...lines, kep: true } }, 'in.transport.framing has no field "kep": did you mean "keep"?'],
    [{ answer: 5 }, "in.transport.answer must be a text or bytes, from 1 to 1024 long."],
    [
      { answer: "a\nb" },
      "in.transport.answer must be a text that can be framed, but its bytes at 1 are the delimiter, which would end the frame in the middle of the message.",
    ],
    [
      { maxFrameBytes: 1_000_000, maxWaitingBytes: 1_000_000 },
      "in.transport.maxWaitingBytes must be at least 2000000, twice maxFrameBytes, for a frame needs that while it comes.",
    ],
    [{ port: 70_000 }, "in.transport.port must be a whole number from 0 to 65535."],
  ])("are refused as %o", (given, problem) => {
    expect(checkTcpInbound({ kind: "tcp", port: 5_000, framing: lines, ...given }, "in.transport")).toEqual([problem]);
  });
});

describe("the settings of a TCP outbound", () => {
  it("wait for the answer that they expect", () => {
    const given = { kind: "tcp", host: "lab", port: 5_000, framing: lines };
    expect(checkTcpOutbound(given, "out.transport")).toMatchObject({ waitForAnswer: false, expect: null });
    expect(checkTcpOutbound({ ...given, expect: "ACK" }, "out.transport")).toMatchObject({ waitForAnswer: true });
    expect(checkTcpOutbound({ ...given, expect: "ACK", waitForAnswer: false }, "out.transport")).toEqual([
      "out.transport expects an answer that it does not wait for: set waitForAnswer.",
    ]);
  });
});
