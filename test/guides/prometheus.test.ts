import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { blocksOf, Guide, patience } from "../support/guide.js";
import { resultOf } from "../support/installed-project.js";
import { isMissing } from "../support/programs.js";

const block = blocksOf("prometheus");

it.skipIf(isMissing("promtool"))(
  "Prometheus takes the rules and the settings as they are shown",
  patience,
  async () => {
    await using guide = await Guide.open("prometheus");
    expect((await guide.run("rules")).stdout).toMatch(/SUCCESS: \d+ rules found/);
    // Prometheus looks whether the file with the token is there.
    const token = join(guide.project.directory, "token.txt");
    await guide.write("token.txt", "secret");
    await guide.write("prometheus.yml", block("prometheus.yml").text.replace("/etc/prometheus/holdfast-token", token));
    const checked = await resultOf(guide.project.command(["promtool", "check", "config", "prometheus.yml"]));
    expect(checked).toMatchObject({ code: 0, stdout: expect.stringMatching(/prometheus\.yml is valid/) as string });
  },
);

it("the dashboard is one that Grafana could import", patience, async () => {
  await using guide = await Guide.open("prometheus");
  await guide.run("grafana");
  const dashboard = JSON.parse(await readFile(join(guide.project.directory, "holdfast-dashboard.json"), "utf8")) as {
    readonly title: string;
    readonly panels: readonly object[];
  };
  expect(dashboard.title).toContain("Holdfast");
  expect(dashboard.panels.length).toBeGreaterThan(10);
});
