import { describe, expect, it } from "vitest";
import * as samples from "../../../../test/fuzz/hl7-samples.js";
import { Hl7Message } from "./message.js";

function read(text: string): Hl7Message {
  const result = Hl7Message.read(Buffer.from(text));
  if (result.kind === "malformed") throw new Error(result.reason);
  return result.message;
}

const written = (message: Hl7Message): string => Buffer.from(message.toBytes()).toString();

const head = "MSH|^~\\&|A|B|C|D|20260131||ADT^A01|1|P|2.5\r";

describe("An HL7 message that was not changed", () => {
  it.each(Object.entries(samples.samples))("is written byte for byte as it came: %s", (_, text) => {
    const message = read(text);
    expect(written(message)).toBe(text);
    expect(message.segments().length).toBeGreaterThan(2);
    expect(message.set("MSH-3", message.get("MSH-3"))).toBe(message);
  });

  it("may have blank lines and a byte order mark in front, which stay", () => {
    const text = `\uFEFF\r\n\n${samples.order}`;
    expect(read(text).get("PID-5.1")).toBe("SMITH");
    expect(written(read(text))).toBe(text);
    expect(written(read(text).set("MSH-3", "X"))).toBe(text.replace("|OE|WARD", "|X|WARD"));
  });

  it("that is little but line ends is told of, and not taken apart", () => {
    const message = read(head + "\r".repeat(1_000_000));
    expect(() => message.get("PID-3")).toThrow("The message has more than 1000000 lines");
    expect(read(head + "\r".repeat(999_999)).get("PID-3")).toBe("");
  });

  it("is still there after a change, since that makes another one", () => {
    const message = read(samples.order);
    message.set("PID-5.1", "JONES").removeSegments("OBR").addSegment("NTE", ["1"]);
    expect(written(message)).toBe(samples.order);
  });
});

describe("Reading by path", () => {
  const message = read(samples.admission);

  it.each([
    ["MSH-1", "|"],
    ["MSH-2", "^~\\&"],
    ["MSH-3", "HIS"],
    ["MSH-4.2", "1.2.276.0.76.4.17"],
    ["MSH-9", "ADT^A01^ADT_A01"],
    ["MSH-9.2", "A01"],
    ["MSH-18", "UNICODE UTF-8"],
    ["PID-3.1", "4711"],
    ["PID-3[2].1", "990022"],
    ["PID-3[2].4.2", "1.2.276.0.76.4.8"],
    ["PID-3[2].4", "REGION&1.2.276.0.76.4.8&ISO"],
    ["PID-3[3]", "A123456789^^^KVNR^NIIP"],
    ["PID-5.1", "Müller"],
    ["PID-5", "Müller^Jörg^K^^Dr.^^L~Meier^Jörg^^^^^B"],
    ["PID-11.1", "Hauptstr. 5&7"],
    ["PID-11.1.1", "Hauptstr. 5&7"],
    ["IN1-4", "Kasse \\ Co"],
    ["ZPI-3", "\\H\\bold\\N\\"],
    ["ZPI-2[2].1", "twice"],
    ["PID[1]-8", "M"],
  ])("finds %s", (path, text) => {
    expect(message.get(path)).toBe(text);
  });

  it.each(["PID-3[4].1", "PID-99", "PID-8.2", "PID-8.1.2", "PID[2]-3", "OBX-5", "EVN-3"])(
    "finds nothing at %s",
    (path) => {
      expect(message.get(path)).toBe("");
      expect(message.getRaw(path)).toBe("");
      expect(message.getAll(path)).toEqual(path.startsWith("PID-8") ? [""] : []);
    },
  );

  it("gives what is written, too", () => {
    expect(message.getRaw("PID-11.1")).toBe("Hauptstr. 5\\T\\7");
    expect(read(samples.results).getRaw("OBX[2]-6")).toBe("10\\S\\3/uL");
    expect(read(samples.results).get("OBX[2]-6")).toBe("10^3/uL");
  });

  it("gives all repetitions of all segments, in order", () => {
    expect(message.getAll("PID-3.1")).toEqual(["4711", "990022", "A123456789"]);
    // A repetition that lacks the component counts, so that lists of one field go together.
    expect(message.getAll("PID-13.3")).toEqual(["PH", "Internet"]);
    expect(message.getAll("PID-3.4.2")).toEqual(["", "1.2.276.0.76.4.8", ""]);
    expect(message.getAll("PID-3[2].1")).toEqual(["990022"]);
    const results = read(samples.results);
    expect(results.getAll("OBX-1")).toEqual(["1", "2", "3", "4", "5"]);
    expect(results.getAll("OBX[4]-5")).toEqual(["first line\nsecond & third", "another paragraph", "", "last"]);
    expect(results.getAll("NTE-3")).toEqual(["Sample was hemolytic (slightly)"]);
    expect(results.getAll("MSH-1")).toEqual(["|"]);
  });

  it("hands out segments, each with its place", () => {
    const results = read(samples.results);
    expect(results.segments().map(({ place }) => place)).toEqual([
      "MSH[1]",
      "PID[1]",
      "OBR[1]",
      "OBX[1]",
      "OBX[2]",
      "OBX[3]",
      "OBX[4]",
      "OBX[5]",
      "NTE[1]",
      "NTE[2]",
    ]);
    const [, second] = results.segments("OBX");
    expect(second?.get("3.2")).toBe("Leukocytes");
    expect(second?.getRaw("6")).toBe("10\\S\\3/uL");
    expect(second?.getAll("3.1")).toEqual(["6690-2"]);
    expect(second?.text()).toBe("OBX|2|NM|6690-2^Leukocytes^LN||6.7|10\\S\\3/uL|4.0-11.0|N|||F");
    expect(results.segments("OBX[2]").map((each) => each.get("1"))).toEqual(["2"]);
    expect(results.segments("ZZZ")).toEqual([]);
  });

  it("goes by the separators of the message itself", () => {
    const other = read(samples.otherSeparators);
    expect(other.get("MSH-1")).toBe("$");
    expect(other.get("MSH-2")).toBe("%*!@#");
    expect(other.type).toBe("ADT^A08");
    expect(other.get("PID-3[2]")).toBe("78");
    expect(other.get("PID-3.4.2")).toBe("1.2");
    expect(other.get("PID-5.1")).toBe("O$Brien|plain");
    expect(written(other.set("NTE-3", "a#b|c$d"))).toContain("NTE$1$$a!P!b|c!F!d\r");
  });

  it("splits nothing by a separator that MSH-2 does not name", () => {
    const few = read("MSH|^~\\|A\rPID|1||a&b^c\r");
    expect(few.get("PID-3.1")).toBe("a&b");
    expect(few.get("PID-3.1.1")).toBe("a&b");
    expect(few.get("PID-3.1.2")).toBe("");
    expect(written(few.set("PID-3.2", "x&y"))).toContain("a&b^x&y\r");
    expect(() => few.set("PID-3.1.2", "x")).toThrow("PID-3.1.2 cannot be reached: MSH-2 names no separator for it.");
  });
});

describe("Line ends", () => {
  it("may be LF or CRLF, and stay so", () => {
    expect(read(samples.withLineFeeds).get("PID-3.1")).toBe("4711");
    expect(read(samples.withBoth).get("PID-3.1")).toBe("5550001");
    expect(written(read(samples.withBoth).set("PID-8", "F"))).toBe(
      samples.withBoth.replace("|M|||1 ROAD", "|F|||1 ROAD"),
    );
    expect(written(read(samples.withLineFeeds).addSegment("NTE", ["1"]))).toBe(`${samples.withLineFeeds}NTE|1\n`);
    expect(written(read(samples.withBoth).addSegment("NTE", ["1"]))).toBe(`${samples.withBoth}NTE|1\r\n`);
  });

  it("are CR where the first one is: a bare LF is text then", () => {
    expect(read(samples.feedsInText).get("OBX[4]-5[1]")).toBe("first line\nsecond & third");
  });

  it("may be missing at the end, and still are after an addition", () => {
    expect(written(read(samples.unended).addSegment("NTE", ["1"]))).toBe(`${samples.unended}\rNTE|1`);
    expect(written(read("MSH|^~\\&|A").addSegment("NTE", ["1"]))).toBe("MSH|^~\\&|A\rNTE|1");
  });

  it("of blank lines are kept, and additions come before those at the end", () => {
    const text = `${head}PID|1\r\rPV1|1\r\r\r`;
    expect(written(read(text).set("PV1-1", "2"))).toBe(text.replace("PV1|1", "PV1|2"));
    expect(written(read(text).addSegment("NTE"))).toBe(`${head}PID|1\r\rPV1|1\rNTE\r\r\r`);
  });
});

describe("Setting", () => {
  const message = read(`${head}PID|1||a^b&c~d||Name\rOBX|1\rOBX|2||x\r`);
  const after = (path: string, value: string | null): string => written(message.set(path, value)).slice(head.length);

  it.each<[string, string | null, string]>([
    ["PID-3.1", "X", "PID|1||X^b&c~d||Name\rOBX|1\rOBX|2||x\r"],
    ["PID-3[2]", "X", "PID|1||a^b&c~X||Name\rOBX|1\rOBX|2||x\r"],
    ["PID-3.2.2", "X", "PID|1||a^b&X~d||Name\rOBX|1\rOBX|2||x\r"],
    ["PID-3[4].2.3", "X", "PID|1||a^b&c~d~~^&&X||Name\rOBX|1\rOBX|2||x\r"],
    ["PID-3", "X", "PID|1||X||Name\rOBX|1\rOBX|2||x\r"],
    ["PID-8.2", "X", "PID|1||a^b&c~d||Name|||^X\rOBX|1\rOBX|2||x\r"],
    ["OBX[2]-3", "a|b^c&d~e\\f", "PID|1||a^b&c~d||Name\rOBX|1\rOBX|2||a\\F\\b\\S\\c\\T\\d\\R\\e\\E\\f\r"],
    ["OBX-3", "one\ntwo\r\x1c", "PID|1||a^b&c~d||Name\rOBX|1||one\\.br\\two\\X0D\\\\X1C\\\rOBX|2||x\r"],
    ["PID-5", "", "PID|1||a^b&c~d||\rOBX|1\rOBX|2||x\r"],
    ["PID-30", "", "PID|1||a^b&c~d||Name\rOBX|1\rOBX|2||x\r"],
    ["PID-5", null, "PID|1||a^b&c~d|\rOBX|1\rOBX|2||x\r"],
    ["PID-3", null, "PID|1||||Name\rOBX|1\rOBX|2||x\r"],
    ["PID-3[1]", null, "PID|1||d||Name\rOBX|1\rOBX|2||x\r"],
    ["PID-3[2]", null, "PID|1||a^b&c||Name\rOBX|1\rOBX|2||x\r"],
    ["PID-3.1", null, "PID|1||^b&c~d||Name\rOBX|1\rOBX|2||x\r"],
    ["PID-3.2", null, "PID|1||a~d||Name\rOBX|1\rOBX|2||x\r"],
    ["PID-3.2.2", null, "PID|1||a^b~d||Name\rOBX|1\rOBX|2||x\r"],
    ["PID-30.2", null, "PID|1||a^b&c~d||Name\rOBX|1\rOBX|2||x\r"],
    ["ZZZ-1", null, "PID|1||a^b&c~d||Name\rOBX|1\rOBX|2||x\r"],
  ])("%s to %j", (path, value, expected) => {
    expect(after(path, value)).toBe(expected);
  });

  it("changes what the header says", () => {
    const changed = message.set("MSH-9.2", "A08").set("MSH-10", "2").set("MSH-15", "AL");
    expect(changed.header).toMatchObject({ type: "ADT^A08", controlId: "2", acceptAck: "AL", charset: "" });
    expect(message.type).toBe("ADT^A01");
  });

  it("writes as it is what setRaw is given", () => {
    expect(written(message.setRaw("PID-3", "1^^^X&Y~2"))).toContain("PID|1||1^^^X&Y~2||Name");
    expect(written(message.setRaw("PID-3.2", "\\H\\x&y"))).toContain("PID|1||a^\\H\\x&y~d||Name");
    expect(written(message.setRaw("MSH-18", "UNICODE UTF-8"))).toContain("|P|2.5||||||UNICODE UTF-8\r");
    const bytes = Buffer.from([0xff, 0xfe]);
    const changed = message.setRaw("PID-5", bytes);
    bytes.fill(0x41);
    expect(Buffer.from(changed.toBytes()).includes(Buffer.from([0xff, 0xfe]))).toBe(true);
  });

  it.each([
    ["PID-3", "a|b", '"|", which ends it'],
    ["PID-3[1]", "a~b", '"~", which ends it'],
    ["PID-3.1", "a^b", '"^", which ends it'],
    ["PID-3.1", "a~b", '"~", which ends it'],
    ["PID-3.1.1", "a&b", '"&", which ends it'],
    ["PID-3", "a\rb", 'would hold "\\r"'],
    ["PID-3", "a\nb", 'would hold "\\n"'],
    ["PID-3", "a\u001cb", 'would hold "\\u001c"'],
    ["MSH-2", "^~\\&", "MSH-2 holds the separators"],
  ])("refuses to set %s to %j as it is", (path, raw, reason) => {
    expect(() => message.setRaw(path, raw)).toThrow(reason);
  });

  it.each([
    ["MSH-1", "#", "MSH-1 holds the separators that the message is written with; write a new message instead."],
    ["MSH-18", "8859/1", "MSH-18 names the charset of the bytes; change both with recoded"],
    ["ZZZ-1", "x", 'ZZZ-1 cannot be set: there is no ZZZ; add it with addSegment("ZZZ").'],
    ["OBX[3]-1", "x", 'OBX[3]-1 cannot be set: there is no OBX[3]; add it with addSegment("OBX").'],
    ["PID-3", "lone \ud800", "which UTF-8 has no bytes for"],
    ["PID-3", 7 as unknown as string, "PID-3 must be a text, or null to take it away; make one with String()."],
  ])("refuses to set %s to %j", (path, value, reason) => {
    expect(() => message.set(path, value)).toThrow(reason);
    expect(() => message.set(path, value)).toThrow(expect.objectContaining({ code: "INVALID_REQUEST" }));
  });

  it("refuses what needs escaping where the message has no escape character", () => {
    const bare = read("MSH|^~|A\rPID|1\r");
    expect(written(bare.set("PID-2", "a\\&b"))).toContain("PID|1|a\\&b\r");
    expect(() => bare.set("PID-2", "a^b")).toThrow('PID-2 would hold "^", which MSH-2 gives no escape character for');
  });

  it("does not write a line end with a separator in it", () => {
    expect(written(read("MSH|.~\\&|A\rNTE|1\r").set("NTE-3", "a\nb.c"))).toContain("NTE|1||a\\X0A\\b\\S\\c\r");
  });
});

describe("A path that makes no sense", () => {
  const message = read(samples.order);

  it.each([
    "PID",
    "PID3",
    "PID-",
    "pid-3",
    "PID-0",
    "PID-3.0",
    "PID-3[0]",
    "PID-3.1.1.1",
    "PID-3[1",
    "PID[0]-1",
    "PI-1",
    "",
    "-",
    "PID-99999",
    "PID-3 ",
  ])("is refused with the way out: %j", (path) => {
    const reason = `${JSON.stringify(path)} is no path; write it like PID-3, PID-3.1, PID-3[2].1.2 or OBX[3]-5, counted from 1.`;
    for (const call of [() => message.get(path), () => message.getAll(path), () => message.set(path, "x")]) {
      expect(call).toThrow(reason);
      expect(call).toThrow(expect.objectContaining({ code: "INVALID_REQUEST" }));
    }
  });

  it("is refused of segments too, and of parts of the separators", () => {
    expect(() => message.segments("PID-3")).toThrow("write it as the segment's name, like OBX or OBX[3]");
    expect(() => message.segments("PID")[0]?.get("PID-3")).toThrow("write it like 3, 3.1 or 3[2].1.2");
    expect(() => message.get("MSH-2.1")).toThrow(
      "MSH-2 holds the separators and has no parts; read it whole, as MSH-2.",
    );
    expect(() => message.get(undefined as unknown as string)).toThrow('"undefined" is no path');
  });
});

describe("Adding and removing segments", () => {
  const message = read(`${head}PID|1\rOBX|1\rOBX|2\rNTE|9\r`);
  const rest = (changed: Hl7Message): string => written(changed).slice(head.length);

  it("adds behind all, or before or after a segment", () => {
    expect(rest(message.addSegment("ZZZ", ["a|b", "", "c"]))).toBe("PID|1\rOBX|1\rOBX|2\rNTE|9\rZZZ|a\\F\\b||c\r");
    expect(rest(message.addSegment("PV1", ["1"], { before: "OBX" }))).toBe("PID|1\rPV1|1\rOBX|1\rOBX|2\rNTE|9\r");
    expect(rest(message.addSegment("NTE", ["1"], { after: "OBX[2]" }))).toBe("PID|1\rOBX|1\rOBX|2\rNTE|1\rNTE|9\r");
    expect(rest(message.addRawSegment("ZZZ|a^b&c~d\\H\\", { after: "MSH" }))).toMatch(/^ZZZ\|a\^b&c~d\\H\\\rPID/);
    const added = message.addSegment("NTE", ["1"], { after: "OBX[2]" });
    expect([added.get("NTE-1"), added.get("NTE[2]-1")]).toEqual(["1", "9"]);
  });

  it("removes one, or all of a name", () => {
    expect(rest(message.removeSegment("OBX[2]"))).toBe("PID|1\rOBX|1\rNTE|9\r");
    expect(rest(message.removeSegment("OBX"))).toBe("PID|1\rOBX|2\rNTE|9\r");
    expect(rest(message.removeSegments("OBX"))).toBe("PID|1\rNTE|9\r");
    expect(message.removeSegment("OBX[3]")).toBe(message);
    expect(message.removeSegments("ZZZ")).toBe(message);
  });

  it("refuses what would not be a message any more", () => {
    expect(() => message.removeSegment("MSH")).toThrow("A message begins with its MSH segment");
    expect(() => message.addSegment("MSH")).toThrow("A message has one MSH segment");
    expect(() => message.addSegment("nte")).toThrow('"nte" names no segment; use three characters, like NTE or ZPI.');
    expect(() => message.addRawSegment("hello")).toThrow("names no segment");
    expect(() => message.addRawSegment("NTE|1\rNTE|2")).toThrow('would hold "\\r"');
    expect(() => message.addSegment("NTE", [], { before: "MSH" })).toThrow("Nothing comes before MSH");
    expect(() => message.addSegment("NTE", [], { after: "ZZZ" })).toThrow("There is no ZZZ to add a segment after.");
  });
});

describe("What is wrong with a message that can be read", () => {
  it("is told by its place, and its bytes stay", () => {
    const bytes = Buffer.concat([
      Buffer.from(`${head}PID|1||ok||M`),
      Buffer.from([0xfc]),
      Buffer.from("ller|x\rOBX|1\rthis line broke off\rOBX|2|caf"),
      Buffer.from([0xe9]),
      Buffer.from(`\r${head}`),
    ]);
    const result = Hl7Message.read(bytes);
    if (result.kind === "malformed") throw new Error(result.reason);
    expect(result.message.flaws().map(({ kind, place }) => `${kind} ${place}`)).toEqual([
      "unfit_bytes PID[1]-5",
      "stray_line line 4",
      "unfit_bytes OBX[2]-2",
      "second_header MSH[2]",
    ]);
    expect(result.message.get("PID-5")).toBe("M\ufffdller");
    const changed = Buffer.from(result.message.set("PID-6", "y").toBytes());
    expect(changed.equals(Buffer.from(bytes.toString("latin1").replace("|x\r", "|y\r"), "latin1"))).toBe(true);
  });

  it("is nothing in messages as they should be", () => {
    for (const text of Object.values(samples.samples)) expect(read(text).flaws()).toEqual([]);
  });
});
