import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { type Clock, systemClock } from "../../src/election/clock.js";
import { checkHttpInbound } from "../../src/engine/transports/http/http-inbound-settings.js";
import { HttpSource } from "../../src/engine/transports/http/http-source.js";
import { eventually, heldCommit, Intake, sound } from "../support/transport-scene.js";

const certificate = (name: string): string => join(import.meta.dirname, "../support/tls", name);
const started: HttpSource[] = [];

afterEach(async () => {
  vi.unstubAllEnvs();
  await Promise.all(started.splice(0).map((source) => source.stop()));
});

async function listen(given: object = {}) {
  const intake = new Intake();
  const settings = sound(checkHttpInbound({ kind: "http", host: "127.0.0.1", port: 0, ...given }, "feed"));
  const source = new HttpSource(intake.parts(settings));
  started.push(source);
  await source.start();
  const url = `http://127.0.0.1:${source.port}/`;
  const post = (body: string | Buffer, init: RequestInit = {}) => fetch(url, { method: "POST", body, ...init });
  return { intake, source, url, post };
}

it("answers with the message's id after the commit, and not before", async () => {
  const { intake, post } = await listen({ keepHeaders: ["X-Ward"] });
  const commit = heldCommit(intake);
  let isAnswered = false;
  const answer = post("MSH|^~\\&|A", { headers: { "content-type": "text/plain", "x-ward": "7" } }).finally(() => {
    isAnswered = true;
  });
  await commit.begun;
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(isAnswered).toBe(false);
  commit.release();
  const response = await answer;
  expect([response.status, await response.json()]).toEqual([202, { id: "1" }]);
  expect(intake.bodies).toEqual(["MSH|^~\\&|A"]);
  expect(intake.kept[0]?.arrival.headers).toEqual({ "content-type": "text/plain", "x-ward": "7" });
});

it("answers a resend with what was stored for the first", async () => {
  const { intake, post } = await listen({ keyHeader: "X-Message-Id" });
  const first = await post("one", { headers: { "x-message-id": "abc" } });
  const again = await post("one", { headers: { "x-message-id": "abc" } });
  expect(await again.text()).toBe(await first.text());
  expect(again.headers.get("x-holdfast-duplicate")).toBe("true");
  expect(again.status).toBe(202);
  expect(intake.bodies).toEqual(["one"]);
  // Told apart from the control id of another message.
  expect(intake.kept[0]?.arrival.key).toBe("key:abc");
});

it("asks to come again while the store is away, and keeps nothing", async () => {
  const { intake, post } = await listen();
  intake.refuse = () => ({ reason: "the store is away", retry: true });
  const response = await post("one");
  expect([response.status, response.headers.get("retry-after")]).toEqual([503, "2"]);
  expect(intake.kept).toEqual([]);
  intake.refuse = () => ({ reason: "too long for the lane", retry: false });
  expect((await post("one")).status).toBe(422);
});

it("tells a sender that what it sent cannot be read, and has kept it", async () => {
  const { intake, post } = await listen();
  intake.malformed = () => "no MSH";
  const response = await post("nonsense");
  expect(response.status).toBe(422);
  expect(await response.json()).toMatchObject({ id: "1", error: "INVALID_REQUEST" });
  expect(intake.bodies).toEqual(["nonsense"]);
});

it("refuses other paths, methods, kinds, lengths and empty bodies, each with its own status", async () => {
  const { intake, url, post } = await listen({ contentTypes: ["text/*"], maxBodyBytes: 10, methods: ["POST"] });
  const text = { headers: { "content-type": "text/plain" } };
  expect((await fetch(`${url}elsewhere`, { method: "POST", body: "x" })).status).toBe(404);
  const put = await post("x", { ...text, method: "PUT" });
  expect([put.status, put.headers.get("allow")]).toEqual([405, "POST"]);
  expect((await post("x", { headers: { "content-type": "application/json" } })).status).toBe(415);
  expect((await post("x", { headers: { ...text.headers, "content-encoding": "gzip" } })).status).toBe(415);
  expect((await post("x".repeat(11), text)).status).toBe(413);
  expect((await post("", text)).status).toBe(400);
  expect((await post("x".repeat(10), text)).status).toBe(202);
  expect(intake.bodies).toEqual(["x".repeat(10)]);
});

it("refuses a body without a length as soon as it is too long", async () => {
  const { intake, source } = await listen({ maxBodyBytes: 1_000 });
  const request = httpRequest({ host: "127.0.0.1", port: source.port ?? 0, method: "POST" });
  request.on("error", () => undefined);
  const answered = once(request, "response");
  request.write(Buffer.alloc(600));
  request.write(Buffer.alloc(600));
  const [response] = await answered;
  expect(response.statusCode).toBe(413);
  request.destroy();
  expect(intake.kept).toEqual([]);
});

it("asks to come again when all requests together hold more than they may", async () => {
  const { intake, post } = await listen({ maxBodyBytes: 10_000, maxWaitingBytes: 16_000 });
  const commit = heldCommit(intake);
  const first = post(Buffer.alloc(10_000));
  await commit.begun;
  expect((await post(Buffer.alloc(10_000))).status).toBe(503);
  commit.release();
  expect((await first).status).toBe(202);
  expect((await post(Buffer.alloc(10_000))).status).toBe(202);
});

it("invites a body that waits to be, and only where it would take it", async () => {
  const { intake, source } = await listen({ maxBodyBytes: 100 });
  const port = source.port ?? 0;
  const send = async (bytes: number) => {
    const headers = { expect: "100-continue", "content-length": bytes };
    const request = httpRequest({ host: "127.0.0.1", port, method: "POST", headers });
    request.on("continue", () => request.end(Buffer.alloc(bytes, "x")));
    request.flushHeaders();
    const [response] = await once(request, "response");
    response.resume();
    return response.statusCode;
  };
  expect(await send(101)).toBe(413);
  expect(await send(100)).toBe(202);
  expect(intake.bodies).toEqual(["x".repeat(100)]);
});

it("lets in who knows the secret, which stands in the environment", async () => {
  vi.stubEnv("FEED_PASSWORD", "open sesame");
  vi.stubEnv("FEED_TOKEN", "t0ken");
  const basic = await listen({ auth: { kind: "basic", username: "lab", passwordFrom: "FEED_PASSWORD" } });
  const bearer = await listen({ auth: { kind: "bearer", tokenFrom: "FEED_TOKEN" } });
  const status = async (post: typeof basic.post, authorization: string) =>
    (await post("x", { headers: { authorization } })).status;
  expect(await status(basic.post, `Basic ${btoa("lab:open sesame")}`)).toBe(202);
  expect(await status(basic.post, `basic ${btoa("lab:open sesame")}`)).toBe(202);
  expect(await status(basic.post, `Basic ${btoa("lab:open")}`)).toBe(401);
  expect(await status(bearer.post, "Bearer t0ken")).toBe(202);
  expect(await status(bearer.post, "Bearer t0kem")).toBe(401);
  const none = await bearer.post("x");
  expect([none.status, none.headers.get("www-authenticate")]).toEqual([401, 'Bearer realm="/"']);
});

it("does not start without its secret, and says which variable is missing", async () => {
  const intake = new Intake();
  const auth = { kind: "bearer", tokenFrom: "FEED_TOKEN_OF_NOBODY" };
  const settings = sound(checkHttpInbound({ kind: "http", host: "127.0.0.1", port: 0, auth }, "feed"));
  const source = new HttpSource(intake.parts(settings));
  await expect(source.start()).rejects.toMatchObject({ code: "BAD_SETTINGS", message: /FEED_TOKEN_OF_NOBODY/ });
  expect(source.state.kind).toBe("failed");
});

it("speaks TLS, with a client's certificate where one is required", async () => {
  const tls = { cert: certificate("localhost.crt"), key: certificate("localhost.key") };
  const { source, intake } = await listen({ tls });
  const { request } = await import("node:https");
  const sent = request({ host: "127.0.0.1", port: source.port ?? 0, method: "POST", rejectUnauthorized: false });
  sent.end("secret");
  const [response] = await once(sent, "response");
  response.resume();
  expect(response.statusCode).toBe(202);
  expect(intake.bodies).toEqual(["secret"]);
  const strict = await listen({ tls: { ...tls, ca: certificate("localhost.crt") } });
  const bare = request({ host: "127.0.0.1", port: strict.source.port ?? 0, method: "POST", rejectUnauthorized: false });
  const refused = once(bare, "response").then(
    () => "answered",
    () => "refused",
  );
  bare.end("x");
  expect(await refused).toBe("refused");
  expect(strict.intake.kept).toEqual([]);
});

it("answers what is under commit when it stops, takes nothing else, and frees the port", async () => {
  const { intake, source, post, url } = await listen();
  const commit = heldCommit(intake);
  const under = post("one");
  await commit.begun;
  const slow = connect(source.port ?? 0, "127.0.0.1");
  slow.on("error", () => undefined);
  await once(slow, "connect");
  const closed = closeOf(slow);
  slow.write("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nhalf");
  const stopped = source.stop();
  expect(source.state.kind).toBe("stopped");
  // A request that is whole only now comes too late.
  const answer = once(slow, "data");
  slow.write("ending");
  expect(String((await answer)[0])).toMatch(/^HTTP\/1\.1 503 /);
  commit.release();
  expect((await under).status).toBe(202);
  await Promise.all([stopped, closed]);
  await expect(fetch(url, { method: "POST", body: "two" })).rejects.toThrow("fetch failed");
  expect(intake.bodies).toEqual(["one"]);
});

it("waits for a port that the last leader still holds, and gives up with a clear line", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  const intake = new Intake();
  const settings = sound(checkHttpInbound({ kind: "http", host: "127.0.0.1", port }, "feed"));
  const source = new HttpSource(intake.parts(settings));
  started.push(source);
  const starting = source.start();
  await eventually(() => expect(source.state.reason).toContain(`port ${port} is taken`));
  other.close();
  await starting;
  expect(source.state.kind).toBe("listening");
  const second = new HttpSource({
    ...intake.parts(settings),
    clock: fastClock(),
  });
  await expect(second.start()).rejects.toMatchObject({ code: "ADDRESS_IN_USE", message: new RegExp(`${port}`) });
});

it("does not wait for ever for a request that has begun", async () => {
  const { intake, source, post } = await listen({ readTimeout: "1s" });
  const slow = connect(source.port ?? 0, "127.0.0.1");
  slow.on("error", () => undefined);
  slow.resume();
  const closed = closeOf(slow);
  slow.write("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nhalf");
  await closed;
  expect((await post("whole")).status).toBe(202);
  expect(intake.bodies).toEqual(["whole"]);
});

it("counts its connections and refuses those beyond its limit", async () => {
  const { intake, source } = await listen({ maxConnections: 2 });
  const sockets = Array.from({ length: 3 }, () => connect(source.port ?? 0, "127.0.0.1"));
  const ends = sockets.map((socket) => {
    socket.on("error", () => undefined);
    return closeOf(socket);
  });
  const refused = await Promise.race(ends);
  expect(sockets).toContain(refused);
  await eventually(() => expect(source.state.connections).toBe(2));
  expect(intake.warnings).toEqual(["as many connections as are taken: further ones are refused"]);
  for (const socket of sockets) socket.destroy();
  await eventually(() => expect(source.state.connections).toBe(0));
});

/** However it comes to it. */
async function closeOf(socket: Socket): Promise<Socket> {
  await new Promise((resolve) => socket.once("close", resolve));
  return socket;
}

/** Each look at it is two seconds later and nothing is waited for, so that patience ends at once. */
function fastClock(): Clock {
  let now = 0;
  const mono = (): number => {
    now += 2_000;
    return now;
  };
  return { ...systemClock, mono, wakeAt: (_mono, fire) => systemClock.wakeAt(0, fire) };
}
