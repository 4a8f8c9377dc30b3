import { expect, it } from "vitest";
import { checkHttpInbound } from "./http-inbound-settings.js";
import { checkHttpOutbound } from "./http-outbound-settings.js";

it("fills in the defaults of a listener", () => {
  expect(checkHttpInbound({ kind: "http", port: 8080 }, "inbound.feed")).toMatchObject({
    host: "0.0.0.0",
    path: "/",
    methods: ["POST", "PUT"],
    contentTypes: [],
    maxBodyBytes: 16_777_216,
    keyHeader: "idempotency-key",
    status: 202,
  });
});

it("tells all that is wrong with a listener at once, one line each", () => {
  const given = {
    kind: "http",
    port: 70_000,
    pth: "/in",
    path: "in",
    methods: ["GET"],
    tls: { cert: "" },
    auth: { kind: "bearer", tokenFrom: "not a name" },
    readTimeout: 5,
    maxWaitingBytes: 10,
  };
  expect(checkHttpInbound(given, "inbound.feed")).toEqual([
    'inbound.feed has no field "pth": did you mean "path"?',
    "inbound.feed.port must be a whole number from 0 to 65535.",
    'inbound.feed.path must be a path that begins with "/", without "?" and "#".',
    'inbound.feed.methods must be a list of "POST" and "PUT".',
    "inbound.feed.tls.cert must be the path of a PEM file.",
    "inbound.feed.tls.key must be the path of a PEM file.",
    "inbound.feed.auth.tokenFrom must be the name of a variable of the environment, like LAB_PASSWORD: the secret itself does not stand here.",
    'inbound.feed.readTimeout must be a duration like "500ms", "5s" or "1m", from 100 ms to 7 days.',
    "inbound.feed.maxWaitingBytes must be at least maxBodyBytes.",
  ]);
  expect(checkHttpInbound("8080", "inbound.feed")).toContainEqual(
    expect.stringContaining("inbound.feed must be an object"),
  );
});

it("lets no secret travel unencrypted over a network unless told to", () => {
  const auth = { kind: "bearer", tokenFrom: "TOKEN" };
  const wrong = [expect.stringContaining("unencrypted")];
  expect(checkHttpInbound({ kind: "http", port: 1, auth }, "in")).toEqual(wrong);
  expect(checkHttpInbound({ kind: "http", port: 1, auth, host: "127.0.0.1" }, "in")).toMatchObject({ auth });
  expect(checkHttpInbound({ kind: "http", port: 1, auth, insecureHttp: true }, "in")).toMatchObject({ auth });
  expect(checkHttpOutbound({ kind: "http", url: "http://lab/", auth }, "out")).toEqual(wrong);
  expect(checkHttpOutbound({ kind: "http", url: "http://lab/", headersFrom: { "x-key": "K" } }, "out")).toEqual(wrong);
  expect(checkHttpOutbound({ kind: "http", url: "https://lab/", auth }, "out")).toMatchObject({ auth });
});

it("tells all that is wrong with an outbound at once", () => {
  const given = {
    kind: "http",
    url: "ftp://lab",
    method: "GET",
    headers: { "Content-Length": "1", "a b": "c", ok: 1 },
    tls: { cert: "a.pem" },
  };
  expect(checkHttpOutbound(given, "outbound.lab")).toEqual([
    "outbound.lab.url must be an address like https://lab.example/messages.",
    'outbound.lab.method must be one of "POST", "PUT", "PATCH".',
    'outbound.lab.headers["Content-Length"] must be left out: the transport sends that header itself.',
    'outbound.lab.headers["a b"] must be a header\'s name and a text.',
    'outbound.lab.headers["ok"] must be a header\'s name and a text.',
    'outbound.lab.tls needs both "cert" and "key", or neither.',
  ]);
  expect(checkHttpOutbound({ kind: "http", url: "https://a:b@lab/" }, "out")).toEqual([
    "out.url must be without credentials: those stand in auth.",
  ]);
});
