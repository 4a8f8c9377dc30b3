import { describe, expect, it } from "vitest";
import { bucketOf, placesIn, searchedBytes, termsOf, WordRun, wordsOf } from "./engine-words.js";

const message = { connection: "adt-in", type: "ADT^A01", controlId: "1" };

function placesOf(run: WordRun, term: number): readonly number[] {
  const packed = run.packed().get(bucketOf(term));
  return packed === undefined ? [] : placesIn(packed, term);
}

const word = (text: string): number => wordsOf(Buffer.from(text))[0] ?? -1;

describe("the words of a text", () => {
  it("are runs of letters and digits, whatever their case and between whatever else", () => {
    const words = wordsOf(Buffer.from("PID|1||4711^^^Hosp~x_Y\r\nOBX"));
    expect(words).toEqual(["pid", "1", "4711", "HOSP", "x", "y", "obx"].map(word));
  });

  it("are the same in UTF-8 and latin1, composed and not", () => {
    const expected = ["straße", "ÄNNE"].map(word);
    expect(wordsOf(Buffer.from("Straße Änne"))).toEqual(expected);
    expect(wordsOf(Buffer.from("Straße Änne", "latin1"))).toEqual(expected);
    expect(wordsOf(Buffer.from("Straße Änne".normalize("NFD")))).toEqual(expected);
    expect(wordsOf(Buffer.from("患者 Иван"))).toEqual(["患者", "ИВАН"].map(word));
  });

  it("are none where it is no text", () => {
    expect(wordsOf(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]))).toEqual([]);
    expect(wordsOf(Buffer.from("a\0b"))).toEqual([]);
    expect(wordsOf(Buffer.from("MSH", "utf16le"))).toEqual([]);
    expect(wordsOf(Buffer.alloc(0))).toEqual([]);
  });

  it("end where a body is looked at no further, and half a word is none", () => {
    const fitting = Buffer.from("x".padEnd(searchedBytes - 4, " ").concat("word"));
    expect(wordsOf(fitting)).toEqual(["x", "word"].map(word));
    expect(wordsOf(Buffer.concat([fitting, Buffer.from("s")]))).toEqual([word("x")]);
    const halved = Buffer.from(`${"x ".repeat(searchedBytes / 2 - 1)}aäz`);
    expect(new Set(wordsOf(halved))).toEqual(new Set([word("x")]));
  });

  it("have hashes that are spread over all buckets", () => {
    const buckets = new Set(Array.from({ length: 20_000 }, (_, n) => bucketOf(word(`w${n}`))));
    expect(buckets.size).toBe(1_024);
    expect(new Set(Array.from({ length: 200_000 }, (_, n) => word(`w${n}`))).size).toBe(200_000);
  });
});

describe("a run of messages", () => {
  it("knows where each word comes, be it rare or in nearly all of them", () => {
    const run = new WordRun(1_000);
    const last = 3_000;
    for (let n = 0; n <= last; n += 1)
      run.add(1_000 + n, message, Buffer.from(`all n${n} ${n % 7 === 0 ? "some" : ""}`));
    run.add(1_000 + 65_535, message, Buffer.from("far all"));
    const places = Array.from({ length: last + 1 }, (_, n) => n);
    expect(placesOf(run, word("all"))).toEqual([...places, 65_535]);
    expect(placesOf(run, word("some"))).toEqual(places.filter((n) => n % 7 === 0));
    expect(placesOf(run, word("n1234"))).toEqual([1_234]);
    expect(placesOf(run, word("far"))).toEqual([65_535]);
    expect(placesOf(run, word("none"))).toEqual([]);
  });

  it("also knows whose they are and of which type, which no word is mistaken for", () => {
    const run = new WordRun(1);
    run.add(1, { ...message, connection: "adt" }, Buffer.from("lab adt code adt"));
    run.add(2, { connection: "lab", type: "ORU", controlId: "7" }, null);
    expect(placesOf(run, termsOf.connection("lab"))).toEqual([1]);
    expect(placesOf(run, termsOf.type("ADT"))).toEqual([0]);
    expect(placesOf(run, termsOf.type("ADT^A01"))).toEqual([0]);
    expect(placesOf(run, termsOf.type("ORU"))).toEqual([1]);
    expect(placesOf(run, termsOf.controlId("7"))).toEqual([1]);
    expect(placesOf(run, termsOf.controlId("lab"))).toEqual([]);
    expect(placesOf(run, word("lab"))).toEqual([0]);
  });
});
