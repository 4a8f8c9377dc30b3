import { describe, expect, it } from "vitest";
import { nameViolations } from "./name-rules.js";
import { repositoryPaths } from "./source-tree.js";

describe("the names of files and folders", () => {
  it("say what is inside, in kebab-case", () => {
    expect(repositoryPaths().flatMap(nameViolations)).toEqual([]);
  });

  it.each([
    ["src/election/utils.ts", "does not say what is inside"],
    ["src/election/lease-manager.ts", "does not say what is inside"],
    ["src/common/lease.ts", "does not say what is inside"],
    ["test/support/helpers.test.ts", "does not say what is inside"],
    ["src/election/leaseRules.ts", "is not kebab-case"],
    ["src/Election/lease.ts", "is not kebab-case"],
    ["src/store/postgres/sql/acquire_lease.sql", "is not kebab-case"],
    ["migrations/add-lease.sql", "is not named like"],
  ])("%s is refused: it %s", (path, reason) => {
    expect(nameViolations(path).join()).toContain(reason);
  });

  it.each([
    "src/election/core/lease-rules.test.ts",
    "src/store/postgres/acquire-lease.sql",
    "docs/adr/0001-fence.md",
    "docs/README.md",
    "migrations/0001_roles.sql",
    "CONTRIBUTING.md",
  ])("%s is accepted", (path) => {
    expect(nameViolations(path)).toEqual([]);
  });
});
