import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { boundLogFile, openLogFile } from "./log-file.js";

let directory: string;
let path: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "holdfast-test-"));
  path = join(directory, "postgres.log");
});

afterEach(() => rmSync(directory, { recursive: true }));

test("a log that has grown too long becomes the previous one, and its writer goes on in an empty one", async () => {
  const log = await openLogFile(path);
  writeSync(log.fd, "old lines\n");
  await boundLogFile(path, 5);
  writeSync(log.fd, "new\n");
  expect(readFileSync(`${path}.1`, "utf8")).toBe("old lines\n");
  expect(readFileSync(path, "utf8")).toBe("new\n");
  expect(log.recent()).toBe("new\n");
  log.close();
});

test("a log within its limit is left alone", async () => {
  appendFileSync(path, "12345");
  await boundLogFile(path, 5);
  expect(readFileSync(path, "utf8")).toBe("12345");
});

test("only what was written since the mark is recent, and its last lines are its tail", async () => {
  appendFileSync(path, "of an earlier server\n");
  const log = await openLogFile(path);
  writeSync(log.fd, "first attempt\n");
  expect(log.recent()).toBe("first attempt\n");
  log.mark();
  for (let line = 1; line <= 20; line++) writeSync(log.fd, `line ${line}\n`);
  expect(log.recent()).not.toContain("first attempt");
  expect(log.tail().split("\n")).toEqual(Array.from({ length: 12 }, (_, index) => `line ${index + 9}`));
  log.close();
});
