import { context, propagation, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createQueue } from "../../src/queue/queue.js";
import { createServer } from "../../src/server/serve.js";
import { calm, clusterNode } from "../support/election.js";
import { startLocalNode } from "../support/local-node.js";
import { createTestDatabase } from "../support/postgres.js";

const exporter = new InMemorySpanExporter();

beforeEach(() => {
  exporter.reset();
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
});

afterEach(() => {
  trace.disable();
  context.disable();
  propagation.disable();
});

const spansOf = (name: string) => exporter.getFinishedSpans().filter((span) => span.name === name);

test("elections, claims and deliveries are spans, and what a handler produces goes on with the trace of who enqueued", async () => {
  await using database = await createTestDatabase();
  const inHandlers: (string | undefined)[] = [];
  const local = await startLocalNode(clusterNode(database.url, "a", calm));
  const queue = createQueue(local.node, { name: "orders", role: "scheduler", stages: ["ingress", "routed"] });
  queue.process("ingress", async ({ body }) => {
    inHandlers.push(trace.getActiveSpan()?.spanContext().traceId);
    return await Promise.resolve([{ stage: "routed", lane: "b", body }]);
  });
  queue.process("routed", async () => {
    inHandlers.push(trace.getActiveSpan()?.spanContext().traceId);
    throw Object.assign(new Error("Miss Marple is in it"), { retry: false });
  });
  await local.leads();
  const tracer = trace.getTracer("application");
  const asked = await tracer.startActiveSpan("order", async (span) => {
    await expect
      .poll(async () => await queue.enqueue({ lane: "a", body: "1" }).then(() => "taken", String))
      .toBe("taken");
    span.end();
    return span.spanContext();
  });
  await expect.poll(() => spansOf("holdfast deliver").length).toBe(2);
  await local[Symbol.asyncDispose]();

  const [first, second] = spansOf("holdfast deliver");
  expect(inHandlers).toEqual([asked.traceId, asked.traceId]);
  expect(first?.parentSpanContext?.spanId).toBe(asked.spanId);
  expect(second?.parentSpanContext?.spanId).toBe(first?.spanContext().spanId);
  expect(first?.attributes).toMatchObject({
    "holdfast.queue": "orders",
    "holdfast.stage": "ingress",
    "holdfast.attempt": 1,
  });
  expect(second?.status).toEqual({ code: 2, message: "the handler failed" });
  expect(spansOf("holdfast claim").map(({ attributes }) => attributes["holdfast.messages"])).toContain(1);
  expect(spansOf("holdfast settle").length).toBeGreaterThan(0);
  const outcomes = spansOf("holdfast acquire").map(({ attributes }) => attributes["holdfast.outcome"]);
  expect(outcomes).toContain("acquired");
  const term = spansOf("holdfast term").find(({ attributes }) => attributes["holdfast.role"] === "scheduler");
  expect(term?.attributes).toMatchObject({ "holdfast.node_id": "a", "holdfast.epoch": 1, "holdfast.reason": "first" });
  // Spans leave the machine: nothing of a message does, not by what a handler throws either.
  const told = exporter
    .getFinishedSpans()
    .map(({ name, attributes, status, events }) => ({ name, attributes, status, events }));
  expect(JSON.stringify(told)).not.toContain("Marple");
});

test("a request is a span below its caller's, named by its route and not by its path", async () => {
  await using database = await createTestDatabase();
  await using local = await startLocalNode(clusterNode(database.url, "a", calm));
  const app = createServer(local.node);
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  await app.inject({ url: "/health", headers: { traceparent } });
  await app.inject({ url: "/secret/of/the/caller" });
  await app.inject({ url: "/role?role=unheard-of" });
  await app.close();
  const [known] = spansOf("GET /health");
  expect(known?.spanContext().traceId).toBe("0af7651916cd43dd8448eb211c80319c");
  expect(known?.parentSpanContext?.spanId).toBe("b7ad6b7169203331");
  expect(known?.attributes).toMatchObject({ "http.route": "/health", "http.response.status_code": 200 });
  expect(spansOf("GET unmatched")[0]?.attributes["http.response.status_code"]).toBe(404);
  expect(spansOf("GET /role")[0]?.attributes["http.response.status_code"]).toBe(404);
});

test("without an SDK there is no span, and messages carry nothing of one", async () => {
  trace.disable();
  await using database = await createTestDatabase();
  await using local = await startLocalNode(clusterNode(database.url, "a", calm));
  const headers: object[] = [];
  const queue = createQueue(local.node, { name: "orders", role: "scheduler" });
  queue.process("ingress", async (message) => {
    headers.push(message.headers);
    await Promise.resolve();
  });
  await local.leads();
  await expect
    .poll(async () => await queue.enqueue({ lane: "a", body: "1" }).then(() => "taken", String))
    .toBe("taken");
  await expect.poll(() => headers).toEqual([{}]);
  expect(exporter.getFinishedSpans()).toEqual([]);
});
