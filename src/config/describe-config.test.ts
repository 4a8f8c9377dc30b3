import { describe, expect, it } from "vitest";
import { everySetting, loadText } from "../../test/support/settings.js";
import { describeConfig } from "./describe-config.js";

const describeText = (toml: string, env: Readonly<Record<string, string>> = {}, tls?: "require" | "disable") => {
  const { config, sources } = loadText(toml, env);
  return describeConfig(config, sources, tls);
};

describe("a configuration as a person is shown it", () => {
  it("has every setting once, defaults as such", () => {
    const rows = describeText("");
    const paths = everySetting()
      .map(({ path }) => path.replace(/\[\]\..*$/, ""))
      .filter((path) => !path.includes("<>"));
    expect(rows.map(({ key }) => key)).toEqual([...new Set(paths)]);
    expect(new Set(rows.map(({ source }) => source))).toEqual(new Set(["default"]));
    expect(rows).toContainEqual({ key: "cluster.forget_after", value: "24h", text: '"24h"', source: "default" });
    expect(rows).toContainEqual({ key: "api.port", value: 7400, text: "7400", source: "default" });
    expect(rows).toContainEqual({ key: "crons", value: [], text: "[]", source: "default" });
  });

  it("says where each value came from", () => {
    const rows = describeText("api.port = 1\napi.host = '::1'", { HOLDFAST_API_PORT: "2" });
    expect(rows).toContainEqual({ key: "api.port", value: 2, text: "2", source: "environment" });
    expect(rows).toContainEqual({ key: "api.host", value: "::1", text: '"::1"', source: "file" });
  });

  it("shows what a node would use where nobody stated it, and that it follows from the rest", () => {
    const rows = describeText("", { HOLDFAST_STORE_URL: "postgres://u@localhost/app" }, "disable");
    expect(rows).toContainEqual({
      key: "store.backend",
      value: "postgres",
      text: '"postgres"',
      source: "derived",
    });
    expect(rows).toContainEqual({ key: "store.tls", value: "disable", text: '"disable"', source: "derived" });
    const stated = describeText('store.backend = "embedded"\nstore.tls = "require"', {}, "require");
    expect(stated).toContainEqual(expect.objectContaining({ key: "store.backend", value: "embedded", source: "file" }));
    expect(stated).toContainEqual(expect.objectContaining({ key: "store.tls", value: "require", source: "file" }));
  });

  it("keeps every digit of a lock that is wider than a number", () => {
    const rows = describeText("[roles.scheduler]\nlock_key = 0x7FFF_FFFF_FFFF_FFFF");
    expect(rows).toContainEqual(expect.objectContaining({ value: "9223372036854775807", text: "9223372036854775807" }));
  });

  it("shows of a secret whether there is one", () => {
    const rows = describeText('store.url = "postgres://u:hush@localhost/app"', {
      HOLDFAST_NOTIFY_SLACK_WEBHOOK_URL: "hush",
    });
    expect(rows).toContainEqual({ key: "store.url", value: "(secret)", text: "(secret)", source: "file" });
    expect(rows).toContainEqual({ key: "store.password", value: null, text: "(not set)", source: "default" });
    expect(rows).toContainEqual({
      key: "notify.slack.webhook_url",
      value: "(secret)",
      text: "(secret)",
      source: "environment",
    });
  });

  it("shows tables column by column, and pinned locks", () => {
    const crons = JSON.stringify([{ name: "a", schedule: "* * * * *", op: "x", payload: { kind: "webhook" } }]);
    const rows = describeText(
      '[[alerts]]\nname = "down"\ncondition = "up == 0"\nnotify = ["slack:#ops", "webhook:https://hush.example"]\n[roles.scheduler]\nlock_key = 7',
      { HOLDFAST_CRONS: crons },
    );
    expect(rows).toContainEqual({ key: "crons[0].op", value: "x", text: '"x"', source: "environment" });
    expect(rows).toContainEqual({
      key: "crons[0].payload",
      value: "(not shown)",
      text: "(not shown)",
      source: "environment",
    });
    expect(rows).toContainEqual({
      key: "crons[0].missed",
      value: "coalesce",
      text: '"coalesce"',
      source: "default",
    });
    expect(rows).toContainEqual({
      key: "alerts[0].notify",
      value: ["slack:#ops", "webhook:(secret)"],
      text: '["slack:#ops","webhook:(secret)"]',
      source: "file",
    });
    expect(rows).toContainEqual({ key: "roles.scheduler.lock_key", value: 7, text: "7", source: "file" });
  });
});
