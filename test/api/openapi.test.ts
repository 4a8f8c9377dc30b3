import { createHash } from "node:crypto";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { serveOpen } from "./served.js";

interface Document {
  readonly openapi: string;
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { security?: unknown[]; description?: string; responses: object }>>>
  >;
}

describe("GET /openapi.json", () => {
  it("describes every path, its answers, its errors, and the permission that it takes", async () => {
    await using served = await serveOpen();
    const { openapi, paths } = (await served.app.inject({ url: "/openapi.json" })).json<Document>();
    expect(openapi).toMatch(/^3\.1/);
    expect(Object.keys(paths)).toEqual(
      expect.arrayContaining(["/health", "/cluster/nodes", "/cluster/nodes/{id}/drain", "/tokens/{id}", "/audit"]),
    );
    expect(paths["/health"]?.get).toMatchObject({ security: [], description: "For everyone." });
    expect(paths["/tokens"]?.post).toMatchObject({
      security: [{ bearer: [] }],
      description: "Takes the permission tokens.",
      requestBody: { content: { "application/json": { schema: { required: ["name", "role"] } } } },
    });
    expect(Object.keys(paths["/cluster/nodes"]?.get?.responses ?? {})).toEqual(["200", "default"]);
    expect(JSON.stringify(paths["/metrics"])).toContain("text/plain");
  });

  it("leaves out what a node without the gateway does not serve", async () => {
    await using served = await serveOpen({ cluster: { roles: ["worker"] } });
    const { paths } = (await served.app.inject({ url: "/openapi.json" })).json<Document>();
    expect(Object.keys(paths)).not.toContain("/tokens");
    expect(Object.keys(paths)).toContain("/cluster/nodes");
  });
});

describe("GET /docs", () => {
  it("is one page that may run its own script, and ask its own node, and nothing else", async () => {
    await using served = await serveOpen();
    const { body, headers } = await served.app.inject({ url: "/docs" });
    expect(headers["content-type"]).toBe("text/html; charset=utf-8");
    const policy = String(headers["content-security-policy"]);
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain("unsafe");
    for (const [tag, directive] of [
      ["script", "script-src"],
      ["style", "style-src"],
    ]) {
      const [, inside = ""] = body.match(new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`)) ?? [];
      const hash = createHash("sha256").update(inside).digest("base64");
      expect(policy).toContain(`${directive} 'sha256-${hash}'`);
    }
    expect(body).not.toMatch(/(src|href)="(https?:)?\/\//);
    expect(body).not.toContain("innerHTML");
  });

  it("shows every path of the document", async () => {
    await using served = await serveOpen();
    const { body } = await served.app.inject({ url: "/docs" });
    const api = (await served.app.inject({ url: "/openapi.json" })).json<Document>();
    const text = await rendered(body, api);
    for (const path of Object.keys(api.paths)) expect(text).toContain(path);
    expect(text).toContain("next_cursor: string | null");
    expect(text).toContain('"viewer" | "operator" | "admin" | "agent"');
  });
});

/** All the text that the page's script puts into the page: as much of a browser as it needs. */
async function rendered(page: string, api: unknown): Promise<string> {
  class Element {
    textContent = "";
    className = "";
    private readonly children: Element[] = [];
    append(...children: Element[]): void {
      this.children.push(...children);
    }
    replaceChildren(...children: Element[]): void {
      this.children.splice(0, this.children.length, ...children);
    }
    insertRow(): Element {
      const row = new Element();
      this.children.push(row);
      return row;
    }
    get text(): string {
      return [this.textContent, ...this.children.map((child) => child.text)].join("\n");
    }
  }
  const main = new Element();
  const [, script = ""] = page.match(/<script>([\s\S]*?)<\/script>/) ?? [];
  runInNewContext(script, {
    document: { createElement: () => new Element(), querySelector: () => main },
    fetch: async () => await Promise.resolve({ ok: true, json: async () => await Promise.resolve(api) }),
  });
  await new Promise((resolve) => setImmediate(resolve));
  return main.text;
}
