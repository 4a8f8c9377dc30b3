import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { overflowOf, TestBrowser, type TestWindow } from "../support/browser.js";
import { type DashboardScene, startDashboardScene } from "../support/dashboard-scene.js";
import { makeTestDirectory } from "../support/postgres.js";
import { isMissing } from "../support/programs.js";
import { pagesOf, settled, signIn } from "./dashboard.js";

/** Where the pictures of the docs are: `HOLDFAST_PICTURES=1` takes them anew. Otherwise a test run changes no file. */
const pictures = process.env["HOLDFAST_PICTURES"] === "1" ? join(import.meta.dirname, "../../docs/images") : null;

describe.skipIf(isMissing("chromium"))("every page of the dashboard", { timeout: 240_000 }, () => {
  let scene: DashboardScene;
  let browser: TestBrowser;
  let shelf: string;

  beforeAll(async () => {
    scene = await startDashboardScene();
    browser = await TestBrowser.launch();
    shelf = pictures ?? (await makeTestDirectory());
    await mkdir(shelf, { recursive: true });
  }, 120_000);

  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]();
    await scene?.[Symbol.asyncDispose]();
  });

  async function visit(
    window: TestWindow,
    look: (page: Page, name: string) => Promise<void>,
  ): Promise<readonly string[]> {
    const { page } = window;
    await signIn(page, scene.nodes[0]?.url ?? "", scene.tokens.admin);
    const links = await pagesOf(page);
    for (const { name, href } of links) {
      await page.goto(new URL(href, page.url()).href);
      await settled(page);
      await look(page, name);
    }
    expect(window.misdeeds).toEqual({ strangers: [], errors: [], dialogs: [] });
    return links.map(({ name }) => name);
  }

  it.each(["light", "dark"] as const)("is usable without seeing it, in %s colours", async (colorScheme) => {
    // Colours that are on their way to others are nobody's to judge.
    await using window = await browser.open({ colorScheme, reducedMotion: "reduce" });
    const findings: Record<string, unknown> = {};
    const seen = await visit(window, async (page, name) => {
      const found = await window.seriousFindings();
      if (found.length > 0) findings[name] = found;
      if (colorScheme === "light") {
        await page.screenshot({ path: join(shelf, `${name.toLowerCase().replaceAll(" ", "-")}.png`) });
      }
    });
    expect(findings).toEqual({});
    expect(seen).toEqual([
      "Overview",
      "Nodes",
      "Leadership",
      "Events",
      "Alerts",
      "Queue",
      "Dead letters",
      "Jobs",
      "Agents",
      "Crons",
      "Messages",
      "Connections",
      "Configuration",
      "Audit",
      "Tokens",
    ]);
  });

  it("fits a narrow screen", async () => {
    await using window = await browser.open({ viewport: { width: 380, height: 800 } });
    const tooWide: Record<string, number> = {};
    await visit(window, async (page, name) => {
      const overflow = await overflowOf(page);
      if (overflow > 0) tooWide[name] = overflow;
    });
    expect(tooWide).toEqual({});
  });
});
