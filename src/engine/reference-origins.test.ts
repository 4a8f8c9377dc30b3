import { appendFile, type FileHandle, mkdtemp, open, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { originsOf } from "./reference-origins.js";

let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-origins-"));
  await writeFile(join(folder, "wards.csv"), "ward,name\nW1,First\n");
  const before = new Date(Date.now() - 60_000);
  await utimes(join(folder, "wards.csv"), before, before);
});

afterEach(async () => {
  vi.restoreAllMocks();
  await rm(folder, { recursive: true, force: true });
});

async function read(path: string): Promise<unknown> {
  const readOrigin = originsOf(folder, () => {
    throw new Error("no database is asked");
  });
  return await readOrigin({ kind: "file", path }, new AbortController().signal);
}

/** What all open files have in common. */
async function handlesOf(path: string): Promise<FileHandle> {
  const file = await open(path);
  await file.close();
  return Object.getPrototypeOf(file) as FileHandle;
}

it("reads a file that is left alone, at once", async () => {
  expect(await read("wards.csv")).toEqual([{ ward: "W1", name: "First" }]);
});

it("takes no part of a file for the whole, where somebody writes it: meanwhile, or a moment before", async () => {
  const path = join(folder, "wards.csv");
  const handles = await handlesOf(path);
  const write = (line: string) => async () => {
    const bytes = await readFile(path);
    await appendFile(path, line);
    return bytes;
  };
  // By the second look its writer has only begun to write the third row.
  vi.spyOn(handles, "readFile")
    .mockImplementationOnce(write("W2,Second\n"))
    .mockImplementationOnce(write("W3,Third\n"));
  expect(await read("wards.csv")).toHaveLength(3);
});

it("takes a file that was just written when it has come to rest", async () => {
  const path = join(folder, "wards.csv");
  await appendFile(path, "W2,Second\n");
  const began = performance.now();
  expect(await read("wards.csv")).toHaveLength(2);
  expect(performance.now() - began).toBeGreaterThan(900);
});

it("says what it cannot read, and why", async () => {
  await expect(read("none.csv")).rejects.toThrow("none.csv cannot be read (ENOENT)");
  await expect(read(".")).rejects.toThrow("cannot be read (EISDIR)");
});
