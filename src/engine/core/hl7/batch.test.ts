import { describe, expect, it } from "vitest";
import { admission, order, results } from "../../../../test/fuzz/hl7-samples.js";
import { readBatch } from "./batch.js";

const read = (text: string) => {
  const { parts, problems } = readBatch(Buffer.from(text));
  return { parts: parts.map(({ kind, bytes }) => [kind, Buffer.from(bytes).toString()]), problems };
};

const fhs = "FHS|^~\\&|LAB|CENTRAL|HUB||20260131\r";
const bhs = "BHS|^~\\&|LAB|CENTRAL|HUB||20260131\r";

describe("A file of messages", () => {
  it("gives the messages within its envelope, in order", () => {
    const text = `${fhs}${bhs}${admission}${order}BTS|2\r${bhs}${results}BTS|1|done\rFTS|2\r`;
    expect(read(text)).toEqual({
      parts: [
        ["envelope", fhs],
        ["envelope", bhs],
        ["message", admission],
        ["message", order],
        ["envelope", "BTS|2\r"],
        ["envelope", bhs],
        ["message", results],
        ["envelope", "BTS|1|done\r"],
        ["envelope", "FTS|2\r"],
      ],
      problems: [],
    });
  });

  it("may have no envelope, blank lines, a byte order mark, and any line ends", () => {
    expect(read(`${admission}${order}`).parts).toEqual([
      ["message", admission],
      ["message", order],
    ]);
    const mixed = [
      "\uFEFF\n",
      admission.replaceAll("\r", "\r\n"),
      "\r\n\r\n",
      order.slice(0, -1),
      "\n",
      results.replaceAll("\r", "\n"),
    ];
    expect(read(mixed.join(""))).toEqual({
      parts: [
        ["message", mixed.slice(0, 3).join("")],
        ["message", mixed.slice(3, 5).join("")],
        ["message", mixed[5]],
      ],
      problems: [],
    });
    expect(read("")).toEqual({ parts: [], problems: [] });
    expect(read("\r\n\n")).toEqual({ parts: [], problems: [] });
  });

  it("loses nothing that stands outside of the messages", () => {
    expect(read(`remark\rmore\r${bhs}lost\r${order}BTS|1\rtrailing`)).toEqual({
      parts: [
        ["stray", "remark\rmore\r"],
        ["envelope", bhs],
        ["stray", "lost\r"],
        ["message", order],
        ["envelope", "BTS|1\r"],
        ["stray", "trailing"],
      ],
      problems: [],
    });
  });

  it("is not split where a text only looks like a beginning", () => {
    const message = `${order}NTE|1|L|a\nMSH is the header\nBTS stands for trailer\nFHS, too\r`;
    expect(read(message).parts).toEqual([["message", message]]);
  });

  it("keeps a message apart whose separators are wrong, to be found malformed", () => {
    const wrong = "MSH|^^^^|A\rPID|1\r";
    expect(read(`${order}${wrong}${order}`).parts.map(([, text]) => text)).toEqual([order, wrong, order]);
  });

  it("goes by the separators of its own", () => {
    expect(read("BHS$%*!@$A\rMSH$%*!@$B\rBTS$2\r").problems).toEqual(['BTS-1 says "2", but there are 1 messages.']);
  });

  it.each([
    [`${bhs}${order}BTS|2\r`, ['BTS-1 says "2", but there are 1 messages.']],
    [`${bhs}${order}BTS|many\r`, ['BTS-1 says "many", but there are 1 messages.']],
    [`${bhs}${order}BTS\r`, []],
    [`${bhs}${order}`, ["A BHS has no BTS: the file may have been cut off."]],
    [`${order}BTS|1\r`, ["There is a BTS without a BHS before it."]],
    [`${order}FTS|1\r`, ["There is an FTS without an FHS before it."]],
    [
      `${fhs}${bhs}${order}`,
      ["A BHS has no BTS: the file may have been cut off.", "The FHS has no FTS: the file may have been cut off."],
    ],
    [`${fhs}${bhs}${order}BTS|1\rFTS|3\r`, ['FTS-1 says "3", but there are 1 batches.']],
  ])("says what its envelope does not keep", (text, problems) => {
    expect(read(text).problems).toEqual(problems);
  });
});
