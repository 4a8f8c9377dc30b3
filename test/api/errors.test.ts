import { describe, expect, it } from "vitest";
import { HoldfastError, NotLeaderError, StaleEpochError } from "../../src/errors.js";
import { serve, serveOpen } from "./served.js";
import { StandInNode } from "./stand-in-node.js";

const json = { "content-type": "application/json" };

describe("a request that cannot be taken", () => {
  it.each([
    ["of a path that is not there", { url: "/nothing" }, 404, "NOT_FOUND"],
    ["with a method that the path does not have", { method: "PUT", url: "/tokens" }, 404, "NOT_FOUND"],
    ["with a path that cannot be decoded", { url: "/cluster/%zz" }, 400, "BAD_REQUEST"],
    ["with a URL that is too long", { url: `/health?${"x".repeat(5_000)}` }, 400, "BAD_REQUEST"],
    [
      "for a name that is too long",
      { method: "POST", url: `/cluster/nodes/${"x".repeat(1_900)}/drain` },
      404,
      "NOT_FOUND",
    ],
    [
      "with half of a JSON body",
      { method: "POST", url: "/tokens", headers: json, payload: '{"na' },
      400,
      "BAD_REQUEST",
    ],
    ["with no body where JSON is said", { method: "POST", url: "/tokens", headers: json }, 400, "BAD_REQUEST"],
    [
      "that reaches for a prototype",
      { method: "POST", url: "/tokens", headers: json, payload: '{"__proto__":{"role":"admin"}}' },
      400,
      "BAD_REQUEST",
    ],
    [
      "in another kind",
      { method: "POST", url: "/tokens", headers: { "content-type": "text/plain" }, payload: "name" },
      415,
      "UNSUPPORTED_MEDIA_TYPE",
    ],
    [
      "that is too large",
      { method: "POST", url: "/tokens", headers: json, payload: `"${"x".repeat(65_535)}"` },
      413,
      "BODY_TOO_LARGE",
    ],
    ["without what it needs", { method: "POST", url: "/tokens", payload: {} }, 422, "INVALID_REQUEST"],
    ["without any body", { method: "POST", url: "/tokens" }, 422, "INVALID_REQUEST"],
  ] as const)("%s has an error of the catalogue, and the role headers", async (_name, request, status, error) => {
    await using served = await serveOpen();
    const answer = await served.app.inject(request);
    expect(answer.statusCode).toBe(status);
    const body = answer.json<Record<string, unknown>>();
    expect(body).toMatchObject({ error, message: expect.any(String) });
    expect(Object.keys(body).filter((key) => !["error", "message", "details"].includes(key))).toEqual([]);
    expect(answer.headers["x-holdfast-node"]).toBe("node-a");
    expect(answer.headers["x-holdfast-leader-epoch"]).toBe("7");
    expect(answer.headers["cache-control"]).toBe("no-store");
  });

  it.each([
    [{ name: "x", role: "admin", rolle: "x" }, "rolle is not a field here."],
    [{ name: "x" }, "role is missing."],
    [{ name: 7, role: "admin" }, "name must be a string."],
    [{ name: "x", role: "admin", expires_in_seconds: "60" }, "expires_in_seconds must be an integer."],
    [{ name: "x", role: "boss" }, "role must be one of viewer, operator, admin, agent."],
    [[], "the body must be an object."],
  ])("%j is told what is wrong, and is neither mended nor stripped", async (payload, message) => {
    await using served = await serveOpen();
    const answer = await served.app.inject({ method: "POST", url: "/tokens", payload });
    expect(answer.statusCode).toBe(422);
    expect(answer.json()).toMatchObject({ error: "INVALID_REQUEST", message, details: { problems: [{}] } });
  });

  it("never repeats a value, which may be a secret in the wrong place", async () => {
    await using served = await serveOpen();
    const payload = { name: "hf_canary", role: "hf_canary", grants: ["hf_canary"], expires_in_seconds: "hf_canary" };
    const answer = await served.app.inject({ method: "POST", url: "/tokens", payload });
    expect(answer.statusCode).toBe(422);
    expect(answer.body).not.toContain("hf_canary");
  });
});

describe("what a handler throws", () => {
  const failing = async (error: Error, node = new StandInNode()) => {
    await node.access.refresh();
    await using served = serve(node);
    served.app.get("/fails", { config: { permission: "anonymous" } }, async () => await Promise.reject(error));
    const answer = await served.app.inject({ url: "/fails" });
    return { status: answer.statusCode, body: answer.json<Record<string, unknown>>(), text: answer.body, node };
  };

  it("as an error of its own is INTERNAL with an id, and the log has the rest under that id", async () => {
    const { status, body, text, node } = await failing(new Error("password=hf_canary at db.internal"));
    expect(status).toBe(500);
    expect(body).toEqual({
      error: "INTERNAL",
      message: expect.any(String),
      details: { request_id: expect.any(String) },
    });
    expect(text).not.toContain("canary");
    const { request_id: id } = body.details as { request_id: string };
    expect(node.lines).toContainEqual(
      expect.objectContaining({
        level: 50,
        request_id: id,
        err: expect.objectContaining({ stack: expect.any(String) }),
      }),
    );
  });

  it.each(["BROKEN_INVARIANT", "TRANSACTION_ESCAPED"] as const)("as %s is INTERNAL too", async (code) => {
    const { status, body, text } = await failing(new HoldfastError(code, "hf_canary"));
    expect(status).toBe(500);
    expect(body).toMatchObject({ error: "INTERNAL", details: { request_id: expect.any(String) } });
    expect(text).not.toContain("canary");
  });

  it.each(["DATABASE_AWAY", "DATABASE_REFUSED", "DATABASE_READ_ONLY", "SCHEMA_TOO_NEW", "UNKNOWN_OUTCOME"] as const)(
    "as %s keeps the code and not the database's words",
    async (code) => {
      const { status, body, text } = await failing(
        new HoldfastError(code, 'permission denied for table "hf_canary"', { details: { table: "hf_canary" } }),
      );
      expect(status).toBe(503);
      expect(body).toEqual({ error: code, message: expect.any(String) });
      expect(text).not.toContain("canary");
    },
  );

  it("as NOT_LEADER has the exact shape", async () => {
    const node = new StandInNode();
    node.stand("STANDBY", "billing", "node-b");
    const error = new NotLeaderError("not now", { role: "billing", nodeId: "node-a", lastEpoch: 3n });
    const { status, body } = await failing(error, node);
    expect(status).toBe(409);
    expect(body).toEqual({
      error: "NOT_LEADER",
      leader_id: "node-b",
      leader_url: "http://node-b:7400",
      leader_epoch: 7,
      node_id: "node-a",
      role: "STANDBY",
    });
  });

  it("as STALE_EPOCH has the exact shape", async () => {
    const stale = new StaleEpochError("over", { details: { field: "job_epoch", expected: 8n, got: 7n } });
    const { status, body } = await failing(stale);
    expect(status).toBe(409);
    expect(body).toEqual({ error: "STALE_EPOCH", alias: "STALE_LEASE", field: "job_epoch", expected: 8, got: 7 });
  });
});
