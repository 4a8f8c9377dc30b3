import { expect, it } from "vitest";
import { TestBrowser } from "../support/browser.js";
import { startDashboardScene, type Words } from "../support/dashboard-scene.js";
import { isMissing } from "../support/programs.js";
import { pagesOf, settled, signIn } from "./dashboard.js";

/** Each would run, or take over the page, in one of the places where text is put into a page without care. */
const corpus = [
  `<script>alert("s")</script>`,
  `<img src=x onerror=alert("i")>`,
  `"><svg onload=alert("q")>`,
  `'-alert("t")-'`,
  `</title></textarea></style><script>alert("e")</script>`,
  `javascript:alert("j")`,
  `<iframe srcdoc="<script>parent.alert('f')</script>">`,
  `<a href="javascript:alert('a')">click</a>`,
  `{{constructor.constructor("alert('c')")()}}`,
  `<math><mtext></form><form><mglyph><style></math><img src onerror=alert("m")>`,
];

/** In HL7 some characters have a meaning of their own, and are escaped. */
const inHl7 = (text: string): string =>
  text.replace(/[\\|^~&]/g, (character) => `\\${"FSRTE"["|^~&\\".indexOf(character)]}\\`);

const words: Words = {
  nodes: [`<img src=x onerror=alert("n1")>`, `"><script>alert("n2")</script>`, `'-alert("n3")-'`],
  lanes: corpus,
  notes: corpus.map(inHl7),
};

it.skipIf(isMissing("chromium"))(
  "whatever nodes, lanes and messages are called and say, it is shown as text and never run",
  { timeout: 240_000 },
  async () => {
    await using scene = await startDashboardScene(words);
    await using browser = await TestBrowser.launch();
    await using window = await browser.open();
    const { page } = window;
    await signIn(page, scene.nodes[1]?.url ?? "", scene.tokens.admin);
    const texts = new Map<string, string>();
    for (const { name, href } of await pagesOf(page)) {
      await page.goto(new URL(href, page.url()).href);
      await settled(page);
      texts.set(name, await page.locator("body").innerText());
    }
    // They were there to be seen.
    for (const id of words.nodes) expect(texts.get("Nodes")).toContain(id);
    expect(texts.get("Overview")).toContain("onerror=alert");
    for (const word of corpus) expect(texts.get("Queue")).toContain(word);

    await page.goto(new URL("#/messages", page.url()).href);
    await settled(page);
    const ids = await page.locator("main tbody tr").count();
    expect(ids).toBeGreaterThanOrEqual(corpus.length);
    expect(window.misdeeds).toEqual({ strangers: [], errors: [], dialogs: [] });
  },
);
