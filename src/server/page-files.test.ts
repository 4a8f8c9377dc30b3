import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { fastify } from "fastify";
import { expect, it, onTestFinished } from "vitest";
import { dashboardRoutes, takesGzip } from "./dashboard-routes.js";
import { type PageFiles, readPageFiles } from "./page-files.js";

async function page(): Promise<PageFiles> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-page-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await mkdir(join(folder, "assets"));
  await writeFile(join(folder, "index.html"), "<title>Page</title>");
  await writeFile(join(folder, "assets/main-1a2b.js"), "start();");
  await writeFile(join(folder, "assets/main-1a2b.js.gz"), gzipSync("start();"));
  await writeFile(join(folder, "assets/main-1a2b.js.map"), "{}");
  return readPageFiles(folder);
}

it("the page is read with its kinds, and without what only the build needs", async () => {
  const files = await page();
  expect([...files].map(([name, { type }]) => [name, type])).toEqual(
    expect.arrayContaining([
      ["index.html", "text/html; charset=utf-8"],
      ["assets/main-1a2b.js", "text/javascript; charset=utf-8"],
    ]),
  );
  expect(files.size).toBe(2);
});

it("a file is sent compressed to those who take it so, and kept by them for good; the page itself never", async () => {
  const app = fastify();
  await app.register(dashboardRoutes, { files: await page() });
  const url = "/assets/main-1a2b.js";
  const packed = await app.inject({ url, headers: { "accept-encoding": "br, gzip" } });
  expect(packed.headers).toMatchObject({
    "content-encoding": "gzip",
    "cache-control": expect.stringContaining("immutable"),
    vary: "accept-encoding",
  });
  expect(gunzipSync(packed.rawPayload).toString()).toBe("start();");
  const plain = await app.inject({ url, headers: { "accept-encoding": "br" } });
  expect(plain.headers).not.toHaveProperty("content-encoding");
  expect(plain.body).toBe("start();");
  const index = await app.inject({ url: "/", headers: { "accept-encoding": "gzip" } });
  expect(index.headers["cache-control"]).toBe("no-store");
  expect(index.body).toBe("<title>Page</title>");
});

it.each([
  "/assets/gone.js",
  "/assets/..%2findex.html",
  "/assets/%2e%2e/index.html",
  "/assets/main-1a2b.js.map",
  "/assets/",
])("%s is nothing of the page", async (url) => {
  const app = fastify();
  await app.register(dashboardRoutes, { files: await page() });
  expect((await app.inject({ url })).statusCode).toBeGreaterThanOrEqual(400);
});

it("where there is no page, that is said", async () => {
  const app = fastify();
  await app.register(dashboardRoutes, { files: readPageFiles("/nowhere/dashboard") });
  expect((await app.inject({ url: "/" })).json()).toMatchObject({ message: expect.stringContaining("npm run build") });
});

it.each([
  ["gzip", true],
  ["GZIP;q=0.5", true],
  ["deflate, gzip;q=1.0", true],
  ["gzip;q=0", false],
  ["gzip;q=0.0", false],
  ["br", false],
  [undefined, false],
])("Accept-Encoding: %s takes gzip: %s", (header, takes) => {
  expect(takesGzip(header)).toBe(takes);
});
