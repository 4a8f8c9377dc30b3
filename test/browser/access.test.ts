import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CronAnswer } from "../../src/server/cron-answers.js";
import type { ListAnswer } from "../../src/server/page.js";
import { TestBrowser } from "../support/browser.js";
import { bearer, type DashboardScene, startDashboardScene } from "../support/dashboard-scene.js";
import { isMissing } from "../support/programs.js";
import type { ServeProcess } from "../support/serve-process.js";
import { pagesOf, settled, signIn } from "./dashboard.js";

/** Buttons that change only what is shown; a gap of the timeline is one too, which tells about itself. */
const looks = new Set(["Skip to content", "Sign out", "Light", "Dark", "As the system", "Open the menu"]);

describe.skipIf(isMissing("chromium"))("who may what in the dashboard", { timeout: 240_000 }, () => {
  let scene: DashboardScene;
  let browser: TestBrowser;

  beforeAll(async () => {
    scene = await startDashboardScene();
    browser = await TestBrowser.launch();
  }, 120_000);

  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]();
    await scene?.[Symbol.asyncDispose]();
  });

  async function standbyOf(role: string): Promise<ServeProcess> {
    const leader = await scene.leaderOf(role);
    const standby = scene.nodes.find((node) => node !== leader);
    if (standby === undefined) throw new Error("There is no standby.");
    return standby;
  }

  it("a viewer sees everything that a viewer may, and not one button that acts", async () => {
    await using window = await browser.open();
    const { page } = window;
    await signIn(page, scene.nodes[0]?.url ?? "", scene.tokens.viewer);
    const acting: string[] = [];
    for (const { name, href } of await pagesOf(page)) {
      await page.goto(new URL(href, page.url()).href);
      await settled(page);
      for (const button of await page.locator("main button:not(.timeline-gap):visible").all()) {
        const said = (await button.getAttribute("aria-label")) ?? (await button.innerText());
        const isChoice = (await button.getAttribute("aria-pressed")) !== null;
        if (!looks.has(said.trim()) && !isChoice) acting.push(`${name}: ${said}`);
      }
    }
    expect(acting).toEqual([]);
    // Nor could a page that was made to show one do anything by it.
    const status = await page.evaluate(`fetch("/cluster/leaders/scheduler/step-down", {
      method: "POST", body: "{}", headers: { "content-type": "application/json", "x-holdfast-request": "dashboard" },
    }).then((response) => response.status)`);
    expect(status).toBe(403);
  });

  it("an operator acts from a standby's page, after being asked, and the leader does it in their name", async () => {
    const standby = await standbyOf("scheduler");
    await using window = await browser.open();
    const { page } = window;
    await signIn(page, standby.url, scene.tokens.operator);
    await page.goto(`${standby.url}/#/crons`);
    await settled(page);
    const row = page.getByRole("row", { name: /reconcile/ });
    await row.getByRole("button", { name: /pause/i }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "detached" });
    const isPaused = async (): Promise<unknown> => {
      const { items } = await standby.read<ListAnswer<CronAnswer>>("/v1/crons", bearer(scene.tokens.viewer));
      return items.find(({ name }) => name === "reconcile")?.paused;
    };
    expect(await isPaused()).toBe(false);
    await row.getByRole("button", { name: /pause/i }).click();
    await dialog.getByRole("button", { name: /pause/i }).click();
    await dialog.waitFor({ state: "detached" });
    await expect.poll(isPaused).toBe(true);
    const audit = await standby.read<ListAnswer<{ actor: string; action: string; target: string | null }>>(
      "/audit?limit=20",
      bearer(scene.tokens.admin),
    );
    expect(audit.items).toContainEqual(
      expect.objectContaining({ actor: "oskar", action: expect.stringContaining("pause") }),
    );
    expect(window.misdeeds).toEqual({ strangers: [], errors: [], dialogs: [] });
  });

  it("a token that is revoked elsewhere signs the page out, and the way back is the door", async () => {
    const [here, elsewhere] = scene.nodes as readonly [ServeProcess, ServeProcess];
    const { secret, token } = await here.post<{ secret: string; token: { id: string } }>(
      "/tokens",
      { name: "leaving", role: "viewer" },
      bearer(scene.tokens.admin),
    );
    await using window = await browser.open();
    const { page } = window;
    await signIn(page, here.url, secret);
    await settled(page);
    await elsewhere.get("/health");
    const revoked = await fetch(`${elsewhere.url}/tokens/${token.id}`, {
      method: "DELETE",
      headers: bearer(scene.tokens.admin),
    });
    expect(revoked.status).toBe(200);
    await page.getByLabel("Token").waitFor();
    expect(await page.locator("main").innerText()).not.toContain("scheduler");
  });

  it("the cookie is for the node's own requests alone: no script reads it, and no other site sends it", async () => {
    await using window = await browser.open();
    const { page } = window;
    const [node] = scene.nodes as readonly [ServeProcess, ...ServeProcess[]];
    await signIn(page, node.url, scene.tokens.operator);
    expect(await page.evaluate("document.cookie")).toBe("");
    const [cookie] = await page.context().cookies(node.url);
    expect(cookie).toMatchObject({ name: "holdfast_session", httpOnly: true, sameSite: "Strict", path: "/" });
    expect(page.url()).not.toContain(scene.tokens.operator);
  });
});
