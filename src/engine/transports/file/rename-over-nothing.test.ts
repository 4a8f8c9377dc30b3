import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { renameOverNothing } from "./rename-over-nothing.js";

const links = vi.hoisted(() => ({ error: null as string | null, afterwards: false }));

/** File systems without links, and mounted folders that are asked twice, are not at hand. */
vi.mock("node:fs/promises", async (original) => {
  const real = await original<typeof import("node:fs/promises")>();
  const link = async (from: string, to: string): Promise<void> => {
    if (links.error === null || links.afterwards) await real.link(from, to);
    if (links.error !== null) throw Object.assign(new Error(links.error), { code: links.error });
  };
  return { ...real, link };
});

let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-rename-"));
  await writeFile(join(folder, "one"), "1");
  await writeFile(join(folder, "two"), "2");
});

afterEach(async () => {
  Object.assign(links, { error: null, afterwards: false });
  await rm(folder, { recursive: true, force: true });
});

const renamed = async (from: string, to: string): Promise<boolean> =>
  await renameOverNothing(join(folder, from), join(folder, to));

it("gives one of two the name, and leaves the other as it is", async () => {
  const ends = await Promise.all(
    ["one", "two"].map((from) => renameOverNothing(join(folder, from), join(folder, "same"))),
  );
  expect([...ends].sort((one, other) => Number(one) - Number(other))).toEqual([false, true]);
  const loser = ends[0] ? "two" : "one";
  expect((await readdir(folder)).sort()).toEqual([loser, "same"].sort());
  expect(await readFile(join(folder, "same"), "utf8")).toBe(ends[0] ? "1" : "2");
});

it("knows that it was done where a mounted folder did it, was asked again, and found the name taken", async () => {
  Object.assign(links, { error: "EEXIST", afterwards: true });
  expect(await renamed("one", "same")).toBe(true);
  expect((await readdir(folder)).sort()).toEqual(["same", "two"]);
});

it("leaves a file as it is whose name it finds taken, also without links", async () => {
  links.error = "EPERM";
  expect(await renamed("one", "two")).toBe(false);
  expect(await renamed("one", "three")).toBe(true);
  expect((await readdir(folder)).sort()).toEqual(["three", "two"]);
});

it("tells of what prevents it, and leaves the file where it is", async () => {
  links.error = "EIO";
  await expect(renamed("one", "same")).rejects.toThrow("EIO");
  expect((await readdir(folder)).sort()).toEqual(["one", "two"]);
});
