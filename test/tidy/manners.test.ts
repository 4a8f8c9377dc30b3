import { describe, expect, it } from "vitest";
import { repositoryScripts } from "./source-tree.js";
import { mannerViolations } from "./test-manners.js";

const violations = (text: string): readonly string[] => mannerViolations({ path: "src/election/lease.test.ts", text });

// Written here in two parts, so that the rule does not find its own examples.
const end = "pg_terminate_backend";

describe("the tests", () => {
  it("leave nothing out, do not sleep, and leave the others alone", () => {
    expect(repositoryScripts().flatMap(mannerViolations)).toEqual([]);
  }, 60_000);

  it.each([
    ["it.only('a', () => {});", "it.only"],
    ["describe.skip('a', () => {});", "describe.skip"],
    ["it.todo('a');", "it.todo"],
    ["test.concurrent.only('a', () => {});", "test.only"],
    ["it.skip.each([1])('a', () => {});", "it.skip"],
    ["it('a', { skip: true }, () => {});", "{ skip: true }"],
    ["xit('a', () => {});", "xit"],
    ["await new Promise((done) => setTimeout(done, 100));", "sleeps for 100 ms"],
    ["await setTimeout(1_000);", "sleeps for 1000 ms"],
    ["await sleep(5 * 1000);", "sleeps for 5000 ms"],
    ["const restMs = 250; await setTimeout(restMs);", "sleeps for 250 ms"],
    ["globalThis.setTimeout(done, 3000);", "sleeps for 3000 ms"],
    [`query('SELECT ${end}(pid) FROM pg_stat_activity WHERE true');`, "sessions of other tests"],
    [`query(\`select ${end}(pid)\n from pg_stat_activity where x = \${x}\`);`, "sessions of other tests"],
  ])("are caught at %s", (text, reason) => {
    expect(violations(text).join()).toContain(reason);
  });

  it.each([
    "it('a', () => {});",
    "it.skipIf(missing)('a', () => {});",
    "it.runIf(long)('a', () => {});",
    "setTimeout(done, 5);",
    "clock.setTimeout(done, 5000);",
    "array.skip(1); cursor.only();",
    `query('select ${end}(pid) from pg_stat_activity where datname = current_database()');`,
  ])("may say %s", (text) => {
    expect(violations(text)).toEqual([]);
  });

  it("are what the rule is about: sources may set long timers", () => {
    expect(mannerViolations({ path: "src/election/lease.ts", text: "setTimeout(beat, 5000);" })).toEqual([]);
  });
});
