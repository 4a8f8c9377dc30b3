import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeSabotagedBuild } from "./sabotaged-build.js";
import { sabotages } from "./sabotages.js";

const change = {
  file: "migrations/0001_election.sql",
  old: "epoch_changes;\nselect setval",
  new: "epoch_changes;\nselect 1, setval",
};

describe("a sabotaged build", () => {
  it("differs in what was replaced, and leaves the true one as it is", async () => {
    const path = "migrations/0001_election.sql";
    const before = await readFile(path, "utf8");
    let folder = "";
    {
      await using build = await makeSabotagedBuild([change]);
      folder = join(build.dist, "..");
      expect(await readFile(join(folder, path), "utf8")).toBe(before.replace(change.old, change.new));
      expect(await readFile(path, "utf8")).toBe(before);
      expect(existsSync(join(build.dist, "index.js"))).toBe(true);
    }
    expect(existsSync(folder)).toBe(false);
  });

  it("is refused when it would not change anything, or not one place alone", async () => {
    await expect(makeSabotagedBuild([{ ...change, old: "no such words" }])).rejects.toThrow("0 places");
    await expect(makeSabotagedBuild([{ ...change, old: "epoch" }])).rejects.toThrow(/\d+ places/);
  });

  it("can be made of each sabotage that there is", { timeout: 60_000 }, async () => {
    for (const { replacements } of sabotages) {
      await using build = await makeSabotagedBuild(replacements);
      expect(existsSync(build.dist)).toBe(true);
    }
  });
});
