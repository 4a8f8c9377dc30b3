import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { metricCatalogue } from "./metric-catalogue.js";

const reference = new URL("../../docs/reference/metrics.md", import.meta.url);

describe("the catalogue of metrics", () => {
  it("has every metric of the reference, of the same kind and with the same labels", async () => {
    const rows = (await readFile(reference, "utf8")).matchAll(/^\| `(\w+)`\s*\| (\w+)\s*\| ([^|]*)\|/gm);
    const documented = [...rows].map(([, name, kind, labels = ""]) => [name, kind, labels.match(/\w+/g) ?? []]);
    expect(metricCatalogue("holdfast_").map(({ name, kind, labels }) => [name, kind, labels])).toEqual(documented);
    expect(documented.length).toBeGreaterThan(35);
  });

  it("has them under another prefix too", () => {
    expect(metricCatalogue("my_").every(({ name }) => name.startsWith("my_"))).toBe(true);
  });
});
