import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { refusalOf } from "../../test/support/settings.js";
import { type ConfigOptions, resolveConfig } from "./config.js";
import { isLoopback } from "./loopback.js";
import { checkServing, publicUrlOf } from "./serving.js";

const directory = mkdtempSync(join(tmpdir(), "holdfast-serving-"));
const tlsCert = join(directory, "api.pem");
const tlsKey = join(directory, "api.key");
writeFileSync(tlsCert, "");
writeFileSync(tlsKey, "");
afterAll(() => rmSync(directory, { recursive: true }));

const check = (options: ConfigOptions): void => checkServing(resolveConfig(options, false));
const refused = (options: ConfigOptions): string => refusalOf(() => check(options)).message;

describe("serving", () => {
  it.each(["127.0.0.1", "127.8.8.8", "localhost", "::1"])("is plain on %s", (host) => {
    expect(() => check({ api: { host } })).not.toThrow();
  });

  it.each(["0.0.0.0", "::", "10.0.0.5", "a.example", "127.0.0.1.example"])("on %s needs TLS, or a word", (host) => {
    expect(refused({ api: { host } })).toBe(
      `api.host (${host}) is reached from other machines, and plain HTTP shows them the tokens: ` +
        "set api.tls_cert and api.tls_key, or api.insecure_http = true where the network encrypts.",
    );
    expect(() => check({ api: { host, insecureHttp: true } })).not.toThrow();
    expect(() => check({ api: { host, tlsCert, tlsKey } })).not.toThrow();
  });

  it("needs certificates and a key that can be read", () => {
    const missing = join(directory, "gone.pem");
    const store = { url: "postgres://db.example/app", tlsCa: missing };
    expect(refused({ api: { tlsCert: missing, tlsKey: directory }, store }).split("\n")).toEqual([
      `api.tls_cert ("${missing}") cannot be read.`,
      `api.tls_key ("${directory}") cannot be read.`,
      `store.tls_ca ("${missing}") cannot be read.`,
    ]);
  });

  it("needs the secrets of those whom its alerts tell", () => {
    const alerts = [
      { name: "down", condition: "up == 0", notify: ["slack:#ops", "pagerduty", "webhook:https://a.example"] },
    ];
    expect(refused({ alerts }).split("\n")).toEqual([
      'alerts: "down" notifies slack, which needs HOLDFAST_NOTIFY_SLACK_WEBHOOK_URL in the environment.',
      'alerts: "down" notifies pagerduty, which needs HOLDFAST_NOTIFY_PAGERDUTY_ROUTING_KEY in the environment.',
    ]);
    const notify = { slack: { webhookUrl: "https://hooks.example" }, pagerduty: { routingKey: "k" } };
    expect(() => check({ alerts, notify })).not.toThrow();
    expect(refused({ alerting: { notify: ["slack"] } })).toBe(
      "alerting.notify notifies slack, which needs HOLDFAST_NOTIFY_SLACK_WEBHOOK_URL in the environment.",
    );
    expect(() => check({ alerts, alerting: { enabled: false, notify: ["slack"] } })).not.toThrow();
  });
});

describe("the public URL", () => {
  const urlOf = (api: NonNullable<ConfigOptions["api"]>, port?: number): string =>
    publicUrlOf(resolveConfig({ api }, false), "box.example", port);

  it("is as stated", () => {
    expect(urlOf({ publicUrl: "https://lb.example/a", host: "0.0.0.0" })).toBe("https://lb.example/a");
  });

  it("is the machine's name, with the port", () => {
    expect(urlOf({ host: "0.0.0.0" })).toBe("http://box.example:7400");
    expect(urlOf({ host: "10.0.0.5", port: 80, tlsCert, tlsKey })).toBe("https://box.example:80");
  });

  it("is the address itself on loopback, where the machine's name leads nowhere", () => {
    expect(urlOf({})).toBe("http://127.0.0.1:7400");
    expect(urlOf({ host: "localhost" })).toBe("http://localhost:7400");
    expect(urlOf({ host: "::1" })).toBe("http://[::1]:7400");
  });

  it("has the port that was bound, where any would do", () => {
    expect(urlOf({ port: 0 }, 40_123)).toBe("http://127.0.0.1:40123");
  });
});

describe("loopback", () => {
  it.each(["localhost", "LOCALHOST", "127.0.0.1", "127.255.0.9", "::1", "[::1]", "::ffff:127.0.0.1"])(
    "is %s",
    (host) => {
      expect(isLoopback(host)).toBe(true);
    },
  );

  it.each(["", "0.0.0.0", "::", "127.evil.example", "127.0.0.1.example", "localhost.example", "128.0.0.1"])(
    "is not %j",
    (host) => {
      expect(isLoopback(host)).toBe(false);
    },
  );
});
