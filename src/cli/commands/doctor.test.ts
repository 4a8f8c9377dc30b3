import { describe, expect, it } from "vitest";
import { ok, problem, warning } from "../../doctor/finding.js";
import { plain } from "../paint.js";
import { exitCodeOf, findingLines } from "./doctor.js";

const good = [ok("database", "PostgreSQL 18 answers."), ok("schema", "It is this code's.")];
const away = problem("database", "It cannot be used.", "Is it up?");

describe("what the doctor found", () => {
  it("is a line each, with what to do below, and a sum", () => {
    const findings = [...good, warning("pooler", "A pooler stands there.", "Set store.election_url.")];
    expect(findingLines(findings, plain)).toEqual([
      "ok       database  PostgreSQL 18 answers.",
      "ok       schema    It is this code's.",
      "warning  pooler    A pooler stands there.",
      "                   -> Set store.election_url.",
      "",
      "0 problems, 1 warning.",
    ]);
    expect(findingLines(good, plain).at(-1)).toBe("All is well.");
  });

  it("decides on the exit code: warnings pass, problems do not, and a database that is away is 4", () => {
    expect(exitCodeOf(good)).toBe(0);
    expect(exitCodeOf([...good, warning("tls", "x", "y")])).toBe(0);
    expect(exitCodeOf([...good, problem("clocks", "x", "y")])).toBe(1);
    expect(exitCodeOf([away])).toBe(4);
  });
});
