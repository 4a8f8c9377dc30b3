import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { HttpDestination } from "../../src/engine/transports/http/http-destination.js";
import { checkHttpOutbound } from "../../src/engine/transports/http/http-outbound-settings.js";
import {
  createLatch,
  deliveryOf,
  destinationScene,
  guardShutAt,
  noAbort,
  openGuard,
  sound,
} from "../support/transport-scene.js";

const certificate = (name: string): string => join(import.meta.dirname, "../support/tls", name);
const closings: (() => unknown)[] = [];

afterEach(async () => {
  vi.unstubAllEnvs();
  await Promise.all(closings.splice(0).map((close) => close()));
});

interface Seen {
  readonly request: IncomingMessage;
  readonly body: string;
}

/** A lab that answers as it is told to, and remembers what it was sent. */
async function lab(answer: (response: ServerResponse, seen: Seen) => void) {
  const seen: Seen[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const one = { request, body: Buffer.concat(chunks).toString() };
      seen.push(one);
      answer(response, one);
    });
  });
  server.on("connection", (socket) => sockets.add(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closings.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return { seen, sockets, server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/in` };
}

function destinationTo(url: string, given: object = {}) {
  const { parts, states } = destinationScene(sound(checkHttpOutbound({ kind: "http", url, ...given }, "lab")));
  const destination = new HttpDestination(parts);
  closings.push(() => destination.close());
  return { destination, states };
}

it("delivers what is answered with 2xx, once, with its key and its epoch", async () => {
  const { seen, url } = await lab((response) => response.writeHead(201).end("thanks"));
  const { destination } = destinationTo(url, { contentType: "application/hl7-v2", headers: { "X-Ward": "7" } });
  const outcome = await destination.send(deliveryOf("MSH|1"), openGuard, noAbort);
  expect(outcome).toEqual({ kind: "delivered", reply: Buffer.from("thanks") });
  expect(seen.map(({ body }) => body)).toEqual(["MSH|1"]);
  expect(seen[0]?.request.headers).toMatchObject({
    "content-type": "application/hl7-v2",
    "idempotency-key": "lab/7",
    "x-holdfast-epoch": "3",
    "x-ward": "7",
  });
  expect(destination.state.kind).toBe("connected");
});

it("keeps its connection over messages, and finds a new one when the other side has closed it", async () => {
  const { seen, sockets, url } = await lab((response) => response.end());
  const { destination } = destinationTo(url);
  await destination.send(deliveryOf("1"), openGuard, noAbort);
  await destination.send(deliveryOf("2"), openGuard, noAbort);
  expect(sockets.size).toBe(1);
  for (const socket of sockets) socket.destroy();
  expect((await destination.send(deliveryOf("3"), openGuard, noAbort)).kind).toBe("delivered");
  expect(seen.map(({ body }) => body)).toEqual(["1", "2", "3"]);
});

it.each([408, 425, 429, 500, 502, 503])("tries again after %i", async (status) => {
  const { url } = await lab((response) => response.writeHead(status).end("busy\nnow"));
  const { destination } = destinationTo(url);
  const outcome = await destination.send(deliveryOf("x"), openGuard, noAbort);
  expect(outcome).toEqual({ kind: "rejected", retry: true, reason: `it answered ${status}: busy now` });
});

it.each([400, 401, 404, 409, 422])("gives up for good after %i", async (status) => {
  const { url } = await lab((response) => response.writeHead(status).end());
  const { destination } = destinationTo(url);
  const outcome = await destination.send(deliveryOf("x"), openGuard, noAbort);
  expect(outcome).toEqual({ kind: "rejected", retry: false, reason: `it refused with ${status}` });
});

it("honours Retry-After, within reason", async () => {
  let after = "7";
  const { url } = await lab((response) => response.writeHead(503, { "retry-after": after }).end());
  const { destination } = destinationTo(url, { maxRetryAfter: "1m" });
  const retryAfter = async () => {
    const outcome = await destination.send(deliveryOf("x"), openGuard, noAbort);
    return outcome.kind === "rejected" ? outcome.retryAfterMs : null;
  };
  expect(await retryAfter()).toBe(7_000);
  after = "86400";
  expect(await retryAfter()).toBe(60_000);
  after = new Date(Date.now() + 30_000).toUTCString();
  expect(await retryAfter()).toBeGreaterThan(20_000);
  after = "soon";
  expect(await retryAfter()).toBeUndefined();
});

it("does not follow a redirect", async () => {
  const { seen, url } = await lab((response) => response.writeHead(307, { location: "/elsewhere" }).end());
  const { destination } = destinationTo(url);
  const outcome = await destination.send(deliveryOf("x"), openGuard, noAbort);
  expect(outcome).toMatchObject({ kind: "rejected", retry: false, reason: expect.stringContaining("/elsewhere") });
  expect(seen).toHaveLength(1);
});

it("says unreached where nobody listens, and where no connection comes about", async () => {
  const refused = destinationTo("http://127.0.0.1:9/").destination;
  expect((await refused.send(deliveryOf("x"), openGuard, noAbort)).kind).toBe("unreached");
  expect(refused.state).toMatchObject({ kind: "failed", reason: expect.stringContaining("ECONNREFUSED") });
  // It accepts the connection and never speaks TLS.
  const silent = createTcpServer((socket) => socket.on("error", () => undefined)).listen(0, "127.0.0.1");
  await once(silent, "listening");
  closings.push(() => silent.close());
  const url = `https://127.0.0.1:${(silent.address() as AddressInfo).port}/`;
  const mute = destinationTo(url, { connectTimeout: "50ms" }).destination;
  const outcome = await mute.send(deliveryOf("x"), openGuard, noAbort);
  expect(outcome).toEqual({ kind: "unreached", reason: "no connection within 0.05 s" });
});

it("says unconfirmed where the request was received and the answer did not come", async () => {
  const { seen, sockets, url } = await lab(() => undefined);
  const { destination } = destinationTo(url, { replyTimeout: "1s" });
  const late = await destination.send(deliveryOf("1"), openGuard, noAbort);
  expect(late).toEqual({ kind: "unconfirmed", reason: "no answer within 1 s" });
  expect(seen).toHaveLength(1);
  const hangup = await lab((response) => response.destroy());
  const { destination: second } = destinationTo(hangup.url);
  expect((await second.send(deliveryOf("2"), openGuard, noAbort)).kind).toBe("unconfirmed");
  expect(hangup.seen).toHaveLength(1);
  expect(sockets.size).toBe(1);
});

it("counts a 2xx as delivered also where its body is cut off, too long to keep, or never ends", async () => {
  const cut = await lab((response) => {
    response.writeHead(200, { "content-length": 100 }).write("half");
    setImmediate(() => response.destroy());
  });
  const first = await destinationTo(cut.url).destination.send(deliveryOf("1"), openGuard, noAbort);
  expect(first).toEqual({ kind: "delivered", reply: null });
  const long = await lab((response) => response.end("x".repeat(1_000)));
  const second = await destinationTo(long.url, { maxReplyBytes: 999 }).destination.send(
    deliveryOf("2"),
    openGuard,
    noAbort,
  );
  expect(second).toEqual({ kind: "delivered", reply: null });
  const endless = await lab((response) => response.writeHead(200).write("and"));
  const patient = destinationTo(endless.url, { replyTimeout: "1s" }).destination;
  expect(await patient.send(deliveryOf("3"), openGuard, noAbort)).toEqual({ kind: "delivered", reply: null });
});

it("asks the guard right before the request, and sends nothing where it throws", async () => {
  const { seen, sockets, url } = await lab((response) => response.end());
  const { destination } = destinationTo(url);
  const guard = guardShutAt(1);
  await expect(destination.send(deliveryOf("x"), guard, noAbort)).rejects.toThrow("leads no more");
  expect(guard.asked()).toBe(1);
  expect(sockets.size).toBe(1);
  for (const socket of sockets) expect(socket.bytesRead).toBe(0);
  expect((await destination.send(deliveryOf("y"), openGuard, noAbort)).kind).toBe("delivered");
  expect(seen.map(({ body }) => body)).toEqual(["y"]);
});

it("ends at once when it is called off or closed", async () => {
  const arrived = createLatch();
  const { url } = await lab(() => arrived.open());
  const { destination } = destinationTo(url);
  const calledOff = new AbortController();
  const first = destination.send(deliveryOf("1"), openGuard, calledOff.signal);
  await arrived.opened;
  calledOff.abort();
  expect(await first).toEqual({ kind: "unconfirmed", reason: "it was called off" });
  const before = await destination.send(deliveryOf("2"), openGuard, AbortSignal.abort());
  expect(before).toMatchObject({ kind: "unreached" });
  await destination.close();
  expect((await destination.send(deliveryOf("3"), openGuard, noAbort)).kind).toBe("unreached");
  expect(destination.state.kind).toBe("closed");
});

it("speaks TLS with those it trusts, and takes its secrets from the environment", async () => {
  vi.stubEnv("LAB_TOKEN", "t0ken");
  vi.stubEnv("LAB_KEY", "k3y");
  const seen: IncomingMessage[] = [];
  const server = createTlsServer(
    { cert: readFileSync(certificate("localhost.crt")), key: readFileSync(certificate("localhost.key")) },
    (request, response) => {
      seen.push(request);
      request.resume();
      response.end();
    },
  ).listen(0, "127.0.0.1");
  await once(server, "listening");
  closings.push(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `https://localhost:${(server.address() as AddressInfo).port}/`;
  const secrets = { auth: { kind: "bearer", tokenFrom: "LAB_TOKEN" }, headersFrom: { "x-api-key": "LAB_KEY" } };
  const trusting = destinationTo(url, { ...secrets, tls: { ca: certificate("localhost.crt") } }).destination;
  expect((await trusting.send(deliveryOf("x"), openGuard, noAbort)).kind).toBe("delivered");
  expect(seen[0]?.headers).toMatchObject({ authorization: "Bearer t0ken", "x-api-key": "k3y" });
  const wary = destinationTo(url).destination;
  expect(await wary.send(deliveryOf("x"), openGuard, noAbort)).toMatchObject({ kind: "unreached" });
  expect(seen).toHaveLength(1);
});

it("says which variable is missing, or cannot be a header, and sends nothing", async () => {
  const { seen, url } = await lab((response) => response.end());
  const { destination } = destinationTo(url, { auth: { kind: "bearer", tokenFrom: "LAB_TOKEN_OF_NOBODY" } });
  const missing = await destination.send(deliveryOf("x"), openGuard, noAbort);
  expect(missing).toMatchObject({ kind: "unreached", reason: expect.stringContaining("LAB_TOKEN_OF_NOBODY") });
  vi.stubEnv("LAB_TOKEN_OF_NOBODY", "two\nlines");
  const broken = await destination.send(deliveryOf("x"), openGuard, noAbort);
  expect(broken).toMatchObject({ kind: "unreached", reason: expect.stringContaining("line break") });
  vi.stubEnv("LAB_TOKEN_OF_NOBODY", "one");
  expect((await destination.send(deliveryOf("x"), openGuard, noAbort)).kind).toBe("delivered");
  expect(seen).toHaveLength(1);
});
