import { expect, it } from "vitest";
import { messagesOf } from "./file-messages.js";
import type { FolderEntry } from "./folder.js";

const entry: FolderEntry = { name: "a.hl7", kind: "file", bytes: 3, modified: 1n };

const keysOf = (body: string, split: "none" | "hl7" = "none", given: Partial<FolderEntry> = {}, place = "/in") =>
  messagesOf(place, { ...entry, ...given }, Buffer.from(body), split).arrivals.map(({ key }) => key);

it("knows a file again by its path, time, length and content, and by nothing less", () => {
  const key = keysOf("one");
  expect(keysOf("one")).toEqual(key);
  expect(keysOf("two")).not.toEqual(key);
  expect(keysOf("one", "none", { modified: 2n })).not.toEqual(key);
  expect(keysOf("one", "none", { name: "b.hl7" })).not.toEqual(key);
  expect(keysOf("one", "none", {}, "/other")).not.toEqual(key);
});

it("gives the messages of a batch keys of their own, the same each time", () => {
  const batch = "MSH|^~\\&|1\rMSH|^~\\&|1\r";
  expect(new Set(keysOf(batch, "hl7")).size).toBe(2);
  expect(keysOf(batch, "hl7")).toEqual(keysOf(batch, "hl7"));
});

it("keeps lines that belong to no message, and finds none in an envelope", () => {
  const bodies = (text: string) =>
    messagesOf("/in", entry, Buffer.from(text), "hl7").arrivals.map(({ body }) => body.toString());
  expect(bodies("hello\rMSH|^~\\&|1\r")).toEqual(["hello\r", "MSH|^~\\&|1\r"]);
  expect(bodies("FHS|^~\\&\rFTS|0\r")).toEqual([]);
  expect(messagesOf("/in", entry, Buffer.from("BHS|^~\\&\rMSH|^~\\&\r"), "hl7").problems).toHaveLength(1);
});
