import { describe, expect, it } from "vitest";
import { resolveConfig } from "../config/config.js";
import { queueDefaultsOf } from "./queue-defaults.js";
import { queueSettingsOf } from "./queue-settings.js";

describe("the settings of a queue", () => {
  it("are those of its node where it says nothing", () => {
    const config = resolveConfig(
      { store: { leaseTtlSeconds: 12.5 }, cluster: { reclaimIntervalSeconds: 7 }, retention: { bodiesDays: 3 } },
      true,
    );
    const settings = queueSettingsOf({ name: "orders" }, queueDefaultsOf(config));
    expect(settings).toMatchObject({ leaseMs: 12_500, sweepIntervalMs: 7_000, retentionMs: 3 * 86_400_000 });
    const own = { leaseMs: 1_000, sweepIntervalMs: 2_000, retentionMs: null };
    expect(queueSettingsOf({ name: "orders", ...own }, queueDefaultsOf(config))).toMatchObject(own);
  });

  it("keep everything where the node does, and are the catalogue's without a node", () => {
    const keeping = queueDefaultsOf(resolveConfig({ retention: { bodiesDays: 0 } }, true));
    expect(queueSettingsOf({ name: "orders" }, keeping).retentionMs).toBeNull();
    expect(queueSettingsOf({ name: "orders", retentionMs: 5 }, keeping).retentionMs).toBe(5);
    const usual = queueDefaultsOf(resolveConfig({}, true));
    expect(queueSettingsOf({ name: "orders" })).toEqual(queueSettingsOf({ name: "orders" }, usual));
  });

  it("take whatever the node's may be", () => {
    const day = 86_400;
    const most = resolveConfig(
      { store: { leaseTtlSeconds: day }, cluster: { reclaimIntervalSeconds: day }, retention: { bodiesDays: 36_500 } },
      true,
    );
    const least = resolveConfig(
      { store: { leaseTtlSeconds: 1 }, cluster: { reclaimIntervalSeconds: 0.1 }, retention: { bodiesDays: 1 } },
      true,
    );
    for (const config of [most, least]) {
      expect(() => queueSettingsOf({ name: "orders" }, queueDefaultsOf(config))).not.toThrow();
    }
  });
});
