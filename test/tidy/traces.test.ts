import { describe, expect, it } from "vitest";
import { readSource, repositoryPaths } from "./source-tree.js";
import { machinePaths, registryHost, type Traces, tracesOfThisMachine, traceViolations } from "./trace-rules.js";

describe("what is committed", () => {
  it("carries no unfinished marks and no traces of the machine it was written on", () => {
    const traces = tracesOfThisMachine();
    const found = repositoryPaths().flatMap((path) => traceViolations(readSource(path), traces));
    expect(found).toEqual([]);
  });

  const traces: Traces = { host: "packages.example:4873", paths: ["/place/of-work", "/place/of-work/clone"] };
  const violations = (text: string) => traceViolations({ path: "docs/a.md", text }, traces);

  it.each([
    [`// ${"TO" + "DO"}: later`, "is marked as unfinished"],
    [`# ${"FIX" + "ME"}`, "is marked as unfinished"],
    ['"resolved": "http://packages.example:4873/pg.tgz"', "names a package registry"],
    ["cd /place/of-work/clone && npm test", "names a path of one machine"],
    ['root = "/place/of-work"', "names a path of one machine"],
  ])("is refused with %s: it %s", (text, reason) => {
    expect(violations(text).join()).toContain(reason);
  });

  it.each(["src/place/of-work/a.ts", "model/./place/of-work-later", "it.todo is another rule", "packages.example"])(
    "may say %s",
    (text) => {
      expect(violations(text)).toEqual([]);
    },
  );

  it("is compared with the clone's own place, unless that place is an ordinary one", () => {
    expect(machinePaths("/place/clone")).toEqual(["/place", "/place/clone"]);
    expect(machinePaths("/tmp/clone")).toEqual(["/tmp/clone"]);
    expect(machinePaths("/app")).toEqual([]);
  });

  it("is compared with the registry's host, unless that is any machine's", () => {
    expect(registryHost("https://packages.example/npm/")).toBe("packages.example");
    expect(registryHost("http://localhost:4873/")).toBe("localhost:4873");
    expect(registryHost("http://localhost/")).toBeUndefined();
  });
});
