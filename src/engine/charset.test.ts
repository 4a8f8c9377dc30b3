import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { charsetNamed, charsetOf } from "./charset.js";
import { fitsCharset } from "./core/hl7/charset.js";
import { peekHeader } from "./core/hl7/header.js";
import { Hl7Message } from "./core/hl7/message.js";

function read(bytes: Uint8Array, assumed?: string): Hl7Message {
  const result = Hl7Message.read(bytes, { charsetOf: (declared) => charsetOf(declared, assumed) });
  if (result.kind === "malformed") throw new Error(result.reason);
  return result.message;
}

const head = (charset: string, sender = "A"): string =>
  `MSH|^~\\&|${sender}|B|C|D|20260131||ADT^A01|1|P|2.5||||||${charset}\r`;

const textIn = (charset: string, text: string): Uint8Array => charsetNamed(charset).encode(text);

describe("The charset of a message", () => {
  it.each([
    ["ASCII", "ASCII"],
    ["8859/1", "8859/1"],
    ["8859/15", "8859/15"],
    ["ISO-8859-2", "8859/2"],
    ["ISO IR100", "8859/1"],
    ["UNICODE UTF-8", "UTF-8"],
    ["utf8", "UTF-8"],
    ["UNICODE", "UTF-8"],
    ["WINDOWS-1252", "windows-1252"],
    ["cp1250", "windows-1250"],
    ["GB 18030-2000", "gb18030"],
    ["BIG-5", "big5"],
    ["KS X 1001", "euckr"],
    ["ISO IR87", "ISO-2022-JP"],
    ["~ISO IR87", "ISO-2022-JP"],
    ["ASCII~ISO IR87~ISO IR159", "ISO-2022-JP"],
    ["8859/1~UNICODE UTF-8", "8859/1"],
  ])("for MSH-18 %j is %s", (declared, name) => {
    expect(charsetOf(declared).name).toBe(name);
    expect(charsetOf(declared).standsInFor).toBeUndefined();
  });

  it("is assumed where the message does not say, UTF-8 if nothing else is", () => {
    expect(charsetOf("").name).toBe("UTF-8");
    expect(charsetOf("", "8859/1").name).toBe("8859/1");
    expect(charsetOf("ASCII", "8859/1").name).toBe("ASCII");
    expect(read(Buffer.from(`${head("")}PID|1||||Müller\r`, "latin1"), "windows-1252").get("PID-5")).toBe("Müller");
  });

  it.each(["NO SUCH", "UNICODE UTF-16", "8859/12", "8859/99", "constructor"])(
    "is stood in for where nobody knows %s",
    (declared) => {
      const message = read(Buffer.from(`${head(declared)}PID|1||||Müller\r`));
      expect(message.charset).toMatchObject({ name: "UTF-8", standsInFor: declared });
      expect(message.flaws()).toEqual([
        {
          kind: "unknown_charset",
          place: "MSH[1]-18",
          reason: `MSH-18 is ${JSON.stringify(declared)}, which is not known; read as UTF-8.`,
        },
      ]);
      expect(message.get("PID-5")).toBe("Müller");
    },
  );

  it("that a setting names must be known", () => {
    expect(charsetNamed("windows-1252").name).toBe("windows-1252");
    expect(() => charsetNamed("klingon")).toThrow(
      '"klingon" names no charset; use UTF-8, ASCII, 8859/1 to 8859/16, windows-1252 or another of table 0211.',
    );
    expect(() => charsetNamed("")).toThrow(expect.objectContaining({ code: "BAD_SETTINGS" }));
  });
});

describe("Bytes and text", () => {
  it("become each other in the message's charset", () => {
    const message = read(Buffer.from(`${head("8859/1")}PID|1||||Müller^Jörg\r`, "latin1"));
    expect(message.get("PID-5.1")).toBe("Müller");
    const changed = message.set("PID-5.2", "Zoë");
    expect(Buffer.from(changed.toBytes()).toString("latin1")).toContain("PID|1||||Müller^Zoë\r");
    expect(changed.text()).toContain("Müller^Zoë");
  });

  it("are not guessed at: a character without bytes is refused", () => {
    const message = read(Buffer.from(`${head("8859/1")}PID|1\r`));
    expect(() => message.set("PID-5.1", "Wałęsa")).toThrow(
      'PID-5.1 would hold "ł", which 8859/1 has no bytes for; replace it, or use recoded with a charset that has.',
    );
    expect(() => message.addSegment("NTE", ["1", "€"])).toThrow('NTE-2 would hold "€", which 8859/1 has no bytes for');
  });

  it("that do not fit are told, and stay as they came", () => {
    const bytes = Buffer.from(`${head("ASCII")}PID|1||||Müller|x\r`, "latin1");
    const message = read(bytes);
    expect(message.get("PID-5")).toBe("M\ufffdller");
    expect(message.flaws()).toMatchObject([
      { kind: "unfit_bytes", place: "PID[1]-5", reason: "It holds bytes that are not ASCII." },
    ]);
    const changed = message.set("PID-6", "y").set("PID-5", message.get("PID-5"));
    expect(Buffer.from(changed.toBytes())).toEqual(Buffer.from(bytes.toString("latin1").replace("|x", "|y"), "latin1"));
  });

  it("of hexadecimal sequences are in the message's charset, too", () => {
    expect(read(Buffer.from(`${head("8859/1")}NTE|1||caf\\XE9\\\r`)).get("NTE-3")).toBe("café");
    expect(read(Buffer.from(`${head("UNICODE UTF-8")}NTE|1||caf\\XC3A9\\\r`)).get("NTE-3")).toBe("café");
  });

  it("can be changed over to another charset, with MSH-18 saying so", () => {
    const message = read(Buffer.from(`${head("UNICODE UTF-8")}PID|1||||Müller^Jörg\r\n`));
    const recoded = message.recoded("8859/1", charsetNamed("8859/1"));
    expect(Buffer.from(recoded.toBytes()).toString("latin1")).toBe(`${head("8859/1")}PID|1||||Müller^Jörg\r\n`);
    expect(read(recoded.toBytes()).get("PID-5.2")).toBe("Jörg");
    expect(recoded.set("PID-5.1", "Möller").recoded("UNICODE UTF-8", charsetNamed("UTF-8")).text()).toContain(
      "Möller^Jörg",
    );
    expect(() => message.recoded("ASCII", charsetNamed("ASCII"))).toThrow(
      'would hold "ü", which ASCII has no bytes for',
    );
  });

  it("that fit neither charset stay as they are when it changes", () => {
    const bytes = Buffer.concat([
      Buffer.from(`${head("UNICODE UTF-8")}PID|1||`),
      Buffer.from([0xff]),
      Buffer.from("||Jörg\r"),
    ]);
    const recoded = Buffer.from(read(bytes).recoded("8859/1", charsetNamed("8859/1")).toBytes());
    expect(recoded.toString("latin1")).toBe(`${head("8859/1")}PID|1||\xff||Jörg\r`);
  });
});

describe("Characters whose bytes look like separators", () => {
  // In these charsets some of these characters hold the byte of | ^ ~ \ or &.
  const japanese = "ポソ表ミ能十貼暴申構";
  const chinese = "許功蓋閱珮豹淚餐乹乗";
  const cases: readonly (readonly [string, string])[] = [
    ["SHIFT_JIS", japanese],
    // In seven bits it is others: these begin with some that hold | ~ ^ \ and &.
    ["~ISO IR87", `日京まぼΑ東${japanese}`],
    ["BIG-5", Array.from(chinese).slice(0, 8).join("")],
    ["GB 18030-2000", `${chinese}𠀀`],
    ["KS X 1001", "한국어"],
    ["EUC-JP", japanese],
  ];

  it.each(cases)("split nothing in %s", (declared, characters) => {
    const each = Array.from(characters);
    const bytes = textIn(
      declared.replace("~", ""),
      `${head(declared, each[0])}PID|1||${each.join("^")}||${each.join("")}~x|last\r`,
    );
    const message = read(bytes);
    expect(message.flaws()).toEqual([]);
    expect(message.get("PID-5[1]")).toBe(characters);
    expect(each.map((_, at) => message.get(`PID-3.${at + 1}`))).toEqual(each);
    expect(message.get("PID-6")).toBe("last");
    expect(Buffer.from(message.toBytes()).equals(bytes)).toBe(true);
    expect(peekHeader(bytes, { charsetOf }).header).toMatchObject({ sendingApplication: each[0], controlId: "1" });
    const changed = message.set("PID-3.2", `${characters}|${characters}`).set("PID-8.2", characters);
    const anew = read(changed.toBytes());
    expect(anew.get("PID-3.2")).toBe(`${characters}|${characters}`);
    expect(anew.get("PID-8.2")).toBe(characters);
    expect(anew.get("PID-3.3")).toBe(each[2]);
    expect(anew.get("PID-5[2]")).toBe("x");
  });

  it.each(cases)("are set and found again in %s, in any mixture", (declared, characters) => {
    const message = read(textIn(declared.replace("~", ""), `${head(declared)}PID|1||a^${characters}~b||c\r`));
    const value = fc.string({
      unit: fc.constantFrom(...Array.from(characters), "|", "^", "~", "\\", "&", "A", "\r", "\n"),
    });
    fc.assert(
      fc.property(fc.constantFrom("PID-3", "PID-3.1", "PID-3[2]", "PID-5.2", "PID-9[2].3.2"), value, (path, text) => {
        const changed = message.set(path, text);
        expect(read(changed.toBytes()).get(path)).toBe(text);
        expect(read(changed.toBytes()).get("PID-1")).toBe("1");
      }),
    );
  });

  it.each(cases)("do no harm in %s where they are broken off", (declared, characters) => {
    const whole = textIn(declared.replace("~", ""), `${head(declared)}PID|1||${characters}|x\rPV1|2\r`);
    const begin = Buffer.from(whole).indexOf("PID");
    for (let cut = begin; cut < whole.length; cut++) {
      const bytes = Buffer.concat([whole.subarray(0, cut), Buffer.from("\rZZZ|here\r")]);
      const message = read(bytes);
      expect(message.get("ZZZ-1")).toBe("here");
      expect(Buffer.from(message.set("ZZZ-1", "there").toBytes())).toEqual(
        Buffer.from(bytes.toString("latin1").replace("|here", "|there"), "latin1"),
      );
    }
  });
});

describe("Japanese in seven bits", () => {
  const charset = charsetNamed("ISO-2022-JP");

  it("is written with the sequences that the standard names", () => {
    expect(Buffer.from(charset.encode("A東京B")).toString("latin1")).toBe("A\x1b$BEl5~\x1b(BB");
    expect(charset.decode(Buffer.from("A\x1b$@El5~\x1b(JB", "latin1"))).toBe("A東京B");
    expect(charset.decode(Buffer.from("\x1b(I1\x1b(B", "latin1"))).toBe("ｱ");
  });

  it("begins each line anew, and says what does not fit", () => {
    expect(charset.decode(Buffer.from("\x1b$BEl\rplain", "latin1"))).toBe("東\rplain");
    expect(fitsCharset(charset, Buffer.from("\x1b$BEl5\x1b(B", "latin1"))).toBe(false);
    expect(fitsCharset(charset, Buffer.from([0xe9]))).toBe(false);
    expect(fitsCharset(charset, Buffer.from("lone \x1b and \x1b$BEl\x1b(B", "latin1"))).toBe(true);
  });
});
