import { inspect } from "node:util";
import fc from "fast-check";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { loadText } from "../../test/support/settings.js";
import { resolveConfig } from "./config.js";
import { describeConfig } from "./describe-config.js";
import { Secret } from "./secret.js";
import { checkServing } from "./serving.js";

/** Everything that could be printed of something: by hand, by a debugger, as JSON, by a logger. */
function printed(thing: unknown): string {
  const lines: string[] = [];
  const sink = { write: (line: string) => lines.push(line) };
  pino({}, sink).info({ thing, err: thing });
  const deep = inspect(thing, { depth: null, showHidden: true, getters: true });
  return [deep, inspect(thing), JSON.stringify(thing), String(thing), ...lines].join("\n");
}

describe("a secret", () => {
  it("shows itself to nobody but who asks for it by name", () => {
    const secret = new Secret("hush");
    expect(secret.reveal()).toBe("hush");
    expect(`${String(secret)} ${JSON.stringify({ secret })} ${inspect([secret])}`).toBe(
      '(secret) {"secret":"(secret)"} [ (secret) ]',
    );
    expect(printed({ secret })).not.toContain("hush");
    expect(Object.keys(secret)).toEqual([]);
    expect(String(new Secret(""))).toBe("(not set)");
  });
});

/** A text that nothing contains by chance, with whatever around it confuses those who take URLs and files apart. */
const awkward = fc.string({ unit: fc.constantFrom(...Array.from("aZ09:/?#@&=%[]{}\"'\\ \n,.-_")), maxLength: 8 });
const secrets = fc
  .tuple(awkward, fc.stringMatching(/^[0-9a-f]{16}$/), awkward)
  .map(([before, core, after]) => ({ core: `zq${core}`, text: `${before}zq${core}${after}` }));

type Settings = { readonly toml: string; readonly env: Record<string, string> };
const quote = (text: string): string => JSON.stringify(text);

/** The places where a secret may be, or may end up by mistake. */
const placements: Readonly<Record<string, (secret: string) => Settings>> = {
  password: (secret) => ({ toml: 'store.server = "localhost"', env: { HOLDFAST_STORE_PASSWORD: secret } }),
  "password in the file": (secret) => ({ toml: `store.password = ${quote(secret)}`, env: {} }),
  "password in the file, of a wrong kind": (secret) => ({ toml: `store.password = [${quote(secret)}]`, env: {} }),
  "password in the file, beside a slip": (secret) => ({
    toml: `[store]\nserver = "db" "db"\npassword = ${quote(secret)}`,
    env: {},
  }),
  "password in the file, unquoted": (secret) => ({ toml: `store.password = ${secret}`, env: {} }),
  url: (secret) => ({
    toml: `store.url = ${quote(`postgres://u:${encodeURIComponent(secret)}@localhost/app`)}`,
    env: {},
  }),
  "url, not escaped": (secret) => ({ toml: "", env: { HOLDFAST_STORE_URL: `postgres://u:${secret}@db.example/app` } }),
  "url, by parameter": (secret) => ({
    toml: "",
    env: { HOLDFAST_STORE_URL: `postgres://db.example/app?password=${secret}` },
  }),
  "url, without encryption": (secret) => ({
    toml: 'store.tls = "disable"',
    env: { HOLDFAST_STORE_URL: `postgres://u:${secret}@db.example/app?sslmode=disable` },
  }),
  election_url: (secret) => ({
    toml: 'store.server = "localhost"',
    env: { HOLDFAST_STORE_ELECTION_URL: `postgres://u:${secret}@localhost/app` },
  }),
  "url as a server": (secret) => ({ toml: `store.server = ${quote(`postgres://u:${secret}@db/app`)}`, env: {} }),
  public_url: (secret) => ({ toml: "", env: { HOLDFAST_API_PUBLIC_URL: `http://u:${secret}@a.example` } }),
  "url as a host": (secret) => ({ toml: "", env: { HOLDFAST_API_HOST: `http://u:${secret}@a` } }),
  "slack webhook": (secret) => ({
    toml: "",
    env: { HOLDFAST_NOTIFY_SLACK_WEBHOOK_URL: `https://hooks.example/${secret}` },
  }),
  "slack webhook as a section": (secret) => ({ toml: `notify.slack = ${quote(secret)}`, env: {} }),
  "routing key": (secret) => ({ toml: "", env: { HOLDFAST_NOTIFY_PAGERDUTY_ROUTING_KEY: secret } }),
  "webhook's secret": (secret) => ({ toml: "", env: { HOLDFAST_NOTIFY_WEBHOOK_SECRET: secret } }),
  "pagerduty's address": (secret) => ({
    toml: "",
    env: { HOLDFAST_NOTIFY_PAGERDUTY_URL: `https://u:${secret}@a.example` },
  }),
  "webhook of an alert": (secret) => ({
    toml: `[[alerts]]\nname = "a"\ncondition = "up == 0"\nnotify = [${quote(`webhook:https://a.example/${secret}`)}]`,
    env: {},
  }),
  "webhook of an alert, misspelt": (secret) => ({
    toml: `[[alerts]]\nname = "a"\ncondition = "up == 0"\nnotify = [${quote(`webhok:https://a.example/${secret}`)}]`,
    env: {},
  }),
  "alerts in the environment, broken": (secret) => ({
    toml: "",
    env: { HOLDFAST_ALERTS: `[{"notify":["webhook:${secret}"` },
  }),
  token: (secret) => ({ toml: "", env: { HOLDFAST_TOKEN: secret } }),
  "token under a wrong name": (secret) => ({ toml: "", env: { HOLDFAST_TOKENS: secret } }),
  "unknown key": (secret) => ({ toml: `store.passwd = ${quote(secret)}`, env: {} }),
};

/** What else may be wrong, so that errors come up around the secret. */
const mistakes: readonly Settings[] = [
  { toml: "", env: {} },
  { toml: "", env: { HOLDFAST_API_PORT: "x", HOLDFAST_STORE_BACKEND: "embedded" } },
  { toml: "", env: { HOLDFAST_CLUSTER_ENABLED: "true", HOLDFAST_STORE_POOL_SIZE: "1", HOLDFAST_API_HOST: "0.0.0.0" } },
];

/** Loads, and prints whatever comes of it. */
function outcome({ toml, env }: Settings): { readonly kind: "taken" | "refused"; readonly text: string } {
  try {
    const { config, sources } = loadText(toml, env);
    const rows = JSON.stringify(describeConfig(config, sources));
    checkServing(config);
    return { kind: "taken", text: `${printed(config)}\n${rows}\n${printed(sources)}` };
  } catch (error) {
    return { kind: "refused", text: printed(error) };
  }
}

describe("no secret shows, whatever is right or wrong with the settings:", () => {
  it.each(Object.entries(placements))("%s", (_name, place) => {
    fc.assert(
      fc.property(secrets, fc.constantFrom(...mistakes), ({ core, text }, mistake) => {
        const settings = place(text);
        const { text: said } = outcome({ toml: settings.toml, env: { ...mistake.env, ...settings.env } });
        expect(said.toLowerCase()).not.toContain(core);
      }),
      { numRuns: 60 },
    );
  });

  it("of settings that are taken as well as of those that are refused", () => {
    const kinds = Object.values(placements).map((place) => outcome(place("zq0123")).kind);
    expect(kinds.filter((kind) => kind === "taken").length).toBeGreaterThan(5);
    expect(kinds.filter((kind) => kind === "refused").length).toBeGreaterThan(5);
  });

  it("nor in the library's settings", () => {
    fc.assert(
      fc.property(secrets, ({ core, text }) => {
        const config = resolveConfig(
          {
            store: { server: "localhost", password: text, electionUrl: "postgres://localhost/app" },
            notify: { slack: { webhookUrl: new Secret(text) }, pagerduty: { routingKey: text } },
            alerts: [
              { name: "a", condition: "up == 0", notify: [`webhook:https://a.example/${encodeURIComponent(text)}`] },
            ],
          },
          false,
        );
        expect(config.store.password.reveal()).toBe(text);
        expect(printed(config)).not.toContain(core);
      }),
      { numRuns: 60 },
    );
  });
});
