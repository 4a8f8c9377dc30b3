import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { serve } from "./served.js";
import { StandInNode } from "./stand-in-node.js";

/** What `npm run build` made of dashboard/. */
describe("the dashboard", () => {
  const load = async (url: string, headers: Record<string, string> = {}) => {
    const node = new StandInNode();
    await node.token("admin");
    await using served = serve(node);
    return await served.app.inject({ url, headers });
  };

  it("is a page that loads its own files and asks its own node, and may do nothing else", async () => {
    const { statusCode, headers, body } = await load("/");
    expect(statusCode).toBe(200);
    expect(headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "x-frame-options": "DENY",
    });
    expect(headers["content-security-policy"]).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; " +
        "form-action 'none'; frame-ancestors 'none'",
    );
    expect(body).not.toMatch(/<(script|style)(?![^>]*\ssrc=)[^>]*>[^<]|\son\w+=|style="/);
    const outside = [...body.matchAll(/\s(?:src|href)="([^"]*)"/g)].map(([, to = ""]) => to);
    expect(outside.filter((to) => !to.startsWith("/assets/") && !to.startsWith("data:image/"))).toEqual([]);
  });

  it("names its files by what is in them, so that they may be kept for good", async () => {
    const { body } = await load("/");
    const names = [...body.matchAll(/"(\/assets\/[^"]+)"/g)].map(([, name = ""]) => name);
    expect(names.length).toBeGreaterThan(1);
    for (const name of names) {
      expect(name).toMatch(/-[\w-]{8,}\.(js|css)$/);
      const { statusCode, headers, rawPayload } = await load(name, { "accept-encoding": "gzip, br" });
      expect(statusCode).toBe(200);
      expect(headers).toMatchObject({
        "cache-control": "public, max-age=31536000, immutable",
        "content-encoding": "gzip",
        "x-content-type-options": "nosniff",
        "x-holdfast-node": "node-a",
      });
      expect(gunzipSync(rawPayload).toString()).toBe((await load(name)).body);
    }
  });

  it("has nothing else, and what it has not is not kept", async () => {
    const { statusCode, headers } = await load("/assets/gone-12345678.js");
    expect(statusCode).toBe(404);
    expect(headers["cache-control"]).toBe("no-store");
  });
});
