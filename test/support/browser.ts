import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import axe from "axe-core";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { administratorEnv } from "./programs.js";

/** What a page did that no page of ours may do. */
interface Misdeeds {
  /** Requests to anybody but the node. */
  readonly strangers: readonly string[];
  /** Errors of its scripts, and what the policy of the page refused. */
  readonly errors: readonly string[];
  /** Windows that a script of somebody else's would open. */
  readonly dialogs: readonly string[];
}

interface Finding {
  readonly rule: string;
  readonly impact: string | null;
  readonly places: readonly string[];
}

const loadMs = 30_000;

/** A real Chromium, as Debian has it. */
export class TestBrowser implements AsyncDisposable {
  private readonly browser: Browser;

  private constructor(browser: Browser) {
    this.browser = browser;
  }

  static async launch(): Promise<TestBrowser> {
    // Root has no sandbox to start it in, and its shared memory may be small in a container.
    const args = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"];
    return new TestBrowser(await chromium.launch({ executablePath: programPath("chromium"), args }));
  }

  /** A window with cookies of its own. */
  async open(look: Parameters<Browser["newContext"]>[0] = {}): Promise<TestWindow> {
    const context = await this.browser.newContext({
      viewport: { width: 1280, height: 900 },
      locale: "en-GB",
      timezoneId: "UTC",
      ...look,
    });
    context.setDefaultTimeout(loadMs);
    return new TestWindow(context, await context.newPage());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser.close();
  }
}

export class TestWindow implements AsyncDisposable {
  readonly page: Page;
  private readonly context: BrowserContext;
  private readonly strangers: string[] = [];
  private readonly errors: string[] = [];
  private readonly dialogs: string[] = [];

  constructor(context: BrowserContext, page: Page) {
    this.context = context;
    this.page = page;
    page.on("request", (request) => {
      const { origin, protocol } = new URL(request.url());
      const isOwn = protocol === "data:" || origin === new URL(page.url()).origin || page.url() === "about:blank";
      if (!isOwn) this.strangers.push(request.url());
    });
    page.on("pageerror", (error) => this.errors.push(String(error)));
    page.on("console", (message) => {
      // A request that was refused, or a node that is gone, is no fault of the page.
      const isNetwork = /Failed to load resource|net::ERR_/.test(message.text());
      if (message.type() === "error" && !isNetwork) this.errors.push(message.text());
    });
    page.on("dialog", async (dialog) => {
      this.dialogs.push(dialog.message());
      await dialog.dismiss();
    });
  }

  get misdeeds(): Misdeeds {
    const { strangers, errors, dialogs } = this;
    return { strangers, errors, dialogs };
  }

  /** What axe holds against the page as it is now: what it calls serious, and worse. */
  async seriousFindings(): Promise<readonly Finding[]> {
    // By the debugger's own way, which the page's policy does not concern.
    await this.page.evaluate(axe.source);
    const run = "axe.run(document, { resultTypes: ['violations'] })";
    const { violations } = (await this.page.evaluate(run)) as {
      violations: { id: string; impact: string | null; nodes: { target: string[]; failureSummary?: string }[] }[];
    };
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, impact, nodes }) => ({
        rule: id,
        impact,
        places: nodes.map(({ target, failureSummary = "" }) => `${target.join(" ")}: ${failureSummary}`),
      }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.context.close();
  }
}

/** On a narrow screen nothing may be found only by scrolling sideways, but for tables within their own frame. */
export async function overflowOf(page: Page): Promise<number> {
  return await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
}

function programPath(program: string): string {
  const found = administratorEnv.PATH.split(delimiter)
    .map((folder) => join(folder, program))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
  if (found === undefined) throw new Error(`${program} is not installed.`);
  return found;
}
