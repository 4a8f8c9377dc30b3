import type { RouteOptions } from "fastify";
import { describe, expect, it } from "vitest";
import { createServer } from "../../src/server/serve.js";
import { serveOpen } from "./served.js";
import { StandInNode } from "./stand-in-node.js";

type Json = Readonly<Record<string, unknown>>;

/** Where a schema lets a caller send as much as they like. */
function unbounded(schema: unknown, path: string): readonly string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const { type, maxItems, maxLength, pattern, enum: choices, const: only } = schema as Json;
  const found: string[] = [];
  if (type === "array" && maxItems === undefined) found.push(`${path}: an array without maxItems`);
  const isFree = [maxLength, pattern, choices, only].every((bound) => bound === undefined);
  if (type === "string" && isFree) found.push(`${path}: a string without maxLength, pattern or enum`);
  if (type === "object" && (schema as Json).additionalProperties !== false)
    found.push(`${path}: an object with any field`);
  return [...found, ...Object.entries(schema).flatMap(([name, inner]) => unbounded(inner, `${path}.${name}`))];
}

const requestParts = ["body", "querystring", "params", "headers"] as const;

async function unboundedOf(add: (app: ReturnType<typeof createServer>) => void = () => undefined) {
  const app = createServer(new StandInNode());
  const found: string[] = [];
  let parts = 0;
  app.addHook("onRoute", ({ method, url, schema }: RouteOptions) => {
    for (const part of requestParts) {
      const given = (schema as Json | undefined)?.[part];
      if (given === undefined) continue;
      parts += 1;
      found.push(...unbounded(given, `${String(method)} ${url} ${part}`));
    }
  });
  add(app);
  await app.ready();
  await app.close();
  return { found, parts };
}

describe("every schema of a request", () => {
  it("bounds its lists, its texts and its fields", async () => {
    const { found, parts } = await unboundedOf();
    expect(found).toEqual([]);
    expect(parts).toBeGreaterThan(15);
  });

  it("is looked at: one without bounds is found", async () => {
    const body = {
      type: "object",
      properties: { names: { type: "array", items: { type: "string" } } },
    };
    const config = { permission: "anonymous" } as const;
    const { found } = await unboundedOf((app) => app.post("/x", { config, schema: { body } }, async () => "x"));
    expect(found).toEqual([
      "POST /x body: an object with any field",
      "POST /x body.properties.names: an array without maxItems",
      "POST /x body.properties.names.items: a string without maxLength, pattern or enum",
    ]);
  });
});

describe("a body that is all wrong", () => {
  const post = async (payload: unknown) => {
    await using served = await serveOpen();
    const answer = await served.app.inject({ method: "POST", url: "/tokens", payload: payload as object });
    return { status: answer.statusCode, body: answer.json<{ message: string; details: { problems: unknown[] } }>() };
  };

  it("by a list that is too long is not looked through any further", async () => {
    const grants = Array.from({ length: 15_000 }, () => "z");
    const { status, body } = await post({ name: "x", role: "nobody", grants });
    expect(status).toBe(422);
    expect(body.message).toBe("grants must not have more than 2 items.");
  });

  it("by its fields is told a few of them", async () => {
    const fields = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`k${at}`, 0]));
    const { status, body } = await post({ name: "x", role: "viewer", ...fields });
    expect(status).toBe(422);
    expect(body.message).toMatch(/^k0 is not a field here; k1 is not a field here; /);
    expect(body.details.problems.length).toBeLessThanOrEqual(10);
  });
});

it("an endpoint cannot declare a larger body than the server takes at all", async () => {
  const app = createServer(new StandInNode());
  const config = { permission: "anonymous" } as const;
  expect(() => app.post("/x", { config, bodyLimit: 1_048_577 }, async () => "x")).toThrow("(maxBodyBytes)");
  app.post("/large", { config, bodyLimit: 1_048_576 }, async () => "x");
  const payload = JSON.stringify("x".repeat(1_000_000));
  const headers = { "content-type": "application/json" };
  expect((await app.inject({ method: "POST", url: "/large", headers, payload })).statusCode).toBe(200);
  await app.close();
});
