import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { main } from "./main.js";
import type { Summary } from "./summary.js";

test("two minutes of all faults, alone and together, break no promise", { timeout: 900_000 }, async () => {
  const out = await mkdtemp(join(tmpdir(), "holdfast-tortured-"));
  const code = await main(["--minutes", "2", "--seed", "8", "--out", out]);
  const { violations, missing } = JSON.parse(await readFile(join(out, "summary.json"), "utf8")) as Summary;
  // The folder is left where something went wrong: it has the history, the logs and the report.
  expect({ violations, missing, code, out }).toEqual({ violations: [], missing: [], code: 0, out });
  await rm(out, { recursive: true });
});
