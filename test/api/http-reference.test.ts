import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { serveOpen } from "./served.js";

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly description?: string }>>>>;
}

const page = readFileSync(new URL("../../docs/reference/http.md", import.meta.url), "utf8");

/** The rows of its tables: `GET /a`, or several, of which later ones may be told by their last word alone. With who may. */
function endpointsOf(text: string): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const [, cell = "", right = ""] of text.matchAll(/^\| (`[A-Z]+ \/[^|]*?) +\| ([^|]*?) +\|/gm)) {
    let last = "";
    for (const [, name = ""] of cell.matchAll(/`([^`]*)`/g)) {
      const plain = name.replace(/\[?\?.*$/, "");
      last = plain.startsWith("/") ? last.replace(/\/[^/]*$/, plain) : plain;
      found[last] = right.replaceAll("`", "");
    }
  }
  return found;
}

async function served(): Promise<Readonly<Record<string, string>>> {
  await using node = await serveOpen();
  const { paths } = (await node.app.inject({ url: "/openapi.json" })).json<Document>();
  return Object.fromEntries(
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { description = "" }]) => [
        `${method.toUpperCase()} ${path.replace("{*}", "*")}`,
        /permission (\S+)\./.exec(description)?.[1] ?? "anyone",
      ]),
    ),
  );
}

describe("docs/reference/http.md", () => {
  it("has every endpoint that a node serves with its permission, and no other", async () => {
    expect(endpointsOf(page)).toEqual(await served());
  });

  it("is found out where a row is missing, is one too many, or tells of another permission", async () => {
    const endpoints = await served();
    const row = /^\| `GET \/audit.*\n/m.exec(page)?.[0] ?? "";
    expect(row).toContain("audit:read");
    const without = page.replace(row, "");
    const renamed = page.replace(row, row.replace("/audit", "/trail") + row);
    const laxer = page.replace(row, row.replace("audit:read", "monitoring:read"));
    for (const wrong of [without, renamed, laxer]) expect(endpointsOf(wrong)).not.toEqual(endpoints);
  });
});
