import { existsSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeTestDirectory } from "../../../test/support/postgres.js";
import { type DataDirectory, openDataDirectory } from "./data-directory.js";
import { takeOwnership } from "./owner.js";
import { processMark } from "./process-identity.js";

let directory: DataDirectory;

beforeEach(async () => {
  directory = await openDataDirectory(await makeTestDirectory());
});

afterEach(() => rm(directory.root, { recursive: true }));

test("a directory owned by a living process is refused, by its pid", () => {
  writeFileSync(
    directory.owner,
    JSON.stringify({ pid: process.ppid, mark: processMark(process.ppid), claim: "theirs" }),
  );
  expect(() => takeOwnership(directory)).toThrow(
    expect.objectContaining({
      code: "EMBEDDED_FAILED",
      message: expect.stringContaining(`in use by process ${process.ppid}:`),
    }),
  );
});

test.each([
  [
    "whose pid now belongs to another process",
    JSON.stringify({ pid: process.ppid, mark: "an earlier process", claim: "theirs" }),
  ],
  ["that a power loss left empty", ""],
])("a record %s does not stand in the way", (_, record) => {
  writeFileSync(directory.owner, record);
  takeOwnership(directory).release();
  expect(existsSync(directory.owner)).toBe(false);
});

test("what was released can be taken again, and an old release does not touch the new owner", () => {
  const first = takeOwnership(directory);
  first.release();
  const second = takeOwnership(directory);
  first.release();
  expect(() => takeOwnership(directory)).toThrow(`in use by process ${process.pid}`);
  second.release();
});
