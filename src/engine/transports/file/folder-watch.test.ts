import { expect, it } from "vitest";
import type { FolderEntry } from "./folder.js";
import { FolderWatch, patternOf, type WatchRules } from "./folder-watch.js";

const rules: WatchRules = { pattern: "*", order: "name", settledPolls: 2, marker: null };

function file(name: string, bytes = 1, modified = 1n, kind: FolderEntry["kind"] = "file"): FolderEntry {
  return { name, bytes, modified, kind };
}

const namesOf = (entries: readonly FolderEntry[]): readonly string[] => entries.map(({ name }) => name);

it("takes a file for whole when it was unchanged for so many looks", () => {
  const watch = new FolderWatch(rules);
  const look = (bytes: number, modified = 1n) => namesOf(watch.look([file("a", bytes, modified)]).whole);
  expect([look(1), look(1), look(2), look(2), look(2)]).toEqual([[], [], [], [], ["a"]]);
  expect([look(2, 2n), look(2, 2n), look(2, 2n)]).toEqual([[], [], ["a"]]);
  expect(watch.look([]).whole).toEqual([]);
  expect(look(2, 2n)).toEqual([]);
});

it("takes a file at once where files appear by a rename", () => {
  expect(namesOf(new FolderWatch({ ...rules, settledPolls: 0 }).look([file("a")]).whole)).toEqual(["a"]);
});

it("takes a file when its marker is there, never the marker, and tells of markers that were left behind", () => {
  const watch = new FolderWatch({ ...rules, marker: ".done", settledPolls: 1 });
  expect(namesOf(watch.look([file("a"), file("b"), file("b.done"), file("c.done")]).whole)).toEqual(["b"]);
  const second = watch.look([file("a"), file("c.done"), file("d.done"), file("d")]);
  expect([namesOf(second.whole), namesOf(second.orphans)]).toEqual([["d"], ["c.done"]]);
});

it("orders by name, or by age", () => {
  const entries = [file("c", 1, 1n), file("a", 1, 3n), file("b", 1, 1n)];
  expect(namesOf(new FolderWatch({ ...rules, settledPolls: 0 }).look(entries).whole)).toEqual(["a", "b", "c"]);
  const byAge = new FolderWatch({ ...rules, settledPolls: 0, order: "age" });
  expect(namesOf(byAge.look(entries).whole)).toEqual(["b", "c", "a"]);
});

it("tells once of what is no plain file, and again when it comes back", () => {
  const watch = new FolderWatch({ ...rules, settledPolls: 0 });
  const strange = [
    file("link", 1, 1n, "link"),
    file("pipe", 1, 1n, "other"),
    file("a\ufffdb"),
    file("sub", 1, 1n, "folder"),
  ];
  const first = watch.look(strange);
  expect(first.strange.map(({ name }) => name)).toEqual(["link", "pipe", "a\ufffdb"]);
  expect(first.whole).toEqual([]);
  expect(watch.look(strange).strange).toEqual([]);
  watch.look([]);
  expect(watch.look([strange[0]!]).strange).toHaveLength(1);
});

it("reads patterns as names, in linear time, and leaves hidden files alone", () => {
  expect(["a.hl7", "a.HL7", "ahl7", ".hidden.hl7"].map(patternOf("*.hl7"))).toEqual([true, false, false, false]);
  expect(["a1", "a12", "a"].map(patternOf("a?"))).toEqual([true, false, false]);
  expect(["a+b(1).txt", "aab(1).txt"].map(patternOf("a+b(1).*"))).toEqual([true, false]);
  expect(patternOf(".*.hl7")(".x.hl7")).toBe(true);
  expect(patternOf("****")("abc")).toBe(true);
  const printable = Array.from({ length: 95 }, (_, at) => String.fromCharCode(32 + at));
  const plain = printable.filter((character) => !"*?".includes(character));
  expect(plain.filter((character) => !patternOf(`lab${character}*`)(`lab${character}1`))).toEqual([]);
  expect(plain.filter((character) => patternOf(`lab${character}*`)("labx1"))).toEqual(["x"]);
});
