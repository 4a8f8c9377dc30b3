import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { describeConfig } from "./describe-config.js";
import { loadConfig } from "./load-config.js";
import { notYet, notYetLine } from "./not-yet.js";

const folder = mkdtempSync(join(tmpdir(), "holdfast-not-yet-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function lineOf(toml: string, env: Readonly<Record<string, string>> = {}): string | null {
  const file = join(folder, "holdfast.toml");
  writeFileSync(file, toml);
  return notYetLine(loadConfig({ file, env, cwd: folder }).sources);
}

describe("settings without an effect yet", () => {
  it("are named where somebody stated them, in a file or in the environment", () => {
    const tables = '[[alerts]]\nname = "down"\ncondition = "up == 0"\n';
    expect(lineOf(tables, { HOLDFAST_SHUTDOWN_POLL_INTERVAL_MS: "200", HOLDFAST_RETENTION_BODIES_DAYS: "7" })).toBe(
      "not in this version yet: shutdown.poll_interval_ms, alerts",
    );
    expect(lineOf("[supervisor]\nmoonlight = true\n[shutdown]\npoll_interval_ms = 50\n")).toBe(
      "not in this version yet: shutdown.poll_interval_ms",
    );
  });

  it("are not spoken of where nobody did, nor are those that have one", () => {
    expect(lineOf("")).toBeNull();
    expect(
      lineOf(
        '[[crons]]\nname = "nightly"\nschedule = "0 3 * * *"\nop = "clean"\n[cluster]\nname = "mine"\n[retention]\nhistory_days = 3\nbodies_days = 9\n[store]\nlease_ttl_seconds = 30\n[jobs]\nmax_attempts = 3\n',
      ),
    ).toBeNull();
  });

  it("are all in the catalogue", () => {
    const { config, sources } = loadConfig({ env: {}, cwd: folder });
    const keys = describeConfig(config, sources).map(({ key }) => key);
    const unknown = notYet.filter((name) => !keys.some((key) => key === name || key.startsWith(`${name}.`)));
    expect(unknown).toEqual([]);
  });
});
