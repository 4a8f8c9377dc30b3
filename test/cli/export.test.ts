import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { runHere } from "../support/command.js";

async function folderWith(settings: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-export-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "holdfast.toml"), settings);
  return folder;
}

describe("holdfast export", () => {
  it("prints the rules that are on where nothing was said", async () => {
    const { code, stdout, stderr } = await runHere(["export", "prometheus-rules"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`      - alert: frequent_failovers
        expr: 'round(sum(increase(holdfast_leader_failovers_total[5m]))) > 5'
        labels:
          severity: warning
`);
    expect(stdout).toContain("        for: 30s\n");
  });

  it("prints those of the settings: replaced, turned off, over another prefix, and its own", async () => {
    const cwd = await folderWith(`
      [metrics]
      prefix = "my_"
      [[alerts]]
      name = "node_dead"
      enabled = false
      [[alerts]]
      name = "queue_age"
      condition = "max(my_queue_oldest_seconds) > 30"
      for = "90s"
      severity = "critical"
      labels = { team = "it's ops" }
      summary = "{{ $value }} s"
    `);
    const { code, stdout } = await runHere(["export", "prometheus-rules"], { cwd });
    expect(code).toBe(0);
    expect(stdout).not.toContain("node_dead");
    expect(stdout).not.toContain("holdfast_");
    expect(stdout).toContain(`      - alert: queue_age
        expr: 'max(my_queue_oldest_seconds) > 30'
        for: 90s
        labels:
          severity: critical
          team: 'it''s ops'
        annotations:
          summary: '{{ $value }} s'
`);
    expect(stdout.match(/alert: queue_age/g)).toHaveLength(1);
  });

  it("prints a dashboard, over the prefix of the settings", async () => {
    const cwd = await folderWith('[metrics]\nprefix = "my_"\n');
    const { code, stdout } = await runHere(["export", "grafana"], { cwd });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ title: "Holdfast", uid: "holdfast" });
    expect(stdout).toContain("my_leader_is_leader");
    expect(stdout).not.toContain("holdfast_");
  });

  it("prints nothing where the settings are wrong, and says what is", async () => {
    const cwd = await folderWith('[[alerts]]\nname = "x"\ncondition = "deriv(up[5m]) > 0"\n');
    const { code, stdout, stderr } = await runHere(["export", "prometheus-rules"], { cwd });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain('conditions may not use a function "deriv"');
  });
});
