import { describe, expect, it } from "vitest";
import { repositoryScripts, type SourceFile, type Violation } from "./source-tree.js";

/** The ways by which text becomes markup, or a program. */
const doors =
  /\b(innerHTML|outerHTML|dangerouslySetInnerHTML|insertAdjacentHTML|createContextualFragment|srcdoc|setHTMLUnsafe|DOMParser|document\.write|eval|new Function)\b|javascript:/g;

function markupViolations({ path, text }: SourceFile): readonly Violation[] {
  if (!path.startsWith("dashboard/")) return [];
  return [...text.matchAll(doors)].map(([door]) => `${path} uses ${door}: what a node says is text`);
}

describe("the dashboard", () => {
  it("shows what a node says as text and never as markup: names and bodies are strangers' words", () => {
    expect(repositoryScripts().flatMap(markupViolations)).toEqual([]);
  });

  it.each([
    "place.innerHTML = text;",
    "<p dangerouslySetInnerHTML={{ __html: text }} />",
    'place.insertAdjacentHTML("beforeend", text);',
    "<iframe srcdoc={text} />",
    '<a href="javascript:act()">',
  ])("is caught at %s", (text) => {
    expect(markupViolations({ path: "dashboard/src/pages/lanes.tsx", text })).toHaveLength(1);
  });
});
