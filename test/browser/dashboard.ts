import type { Page } from "playwright-core";

/** Enters the token as a person does. */
export async function signIn(page: Page, url: string, token: string): Promise<void> {
  await page.goto(`${url}/`);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  // On a narrow screen it is there and not shown.
  await page.locator("nav[aria-label=Pages]").waitFor({ state: "attached" });
}

/** The entries of the menu. */
export async function pagesOf(page: Page): Promise<readonly { readonly name: string; readonly href: string }[]> {
  const links = await page.getByRole("navigation", { name: "Pages", includeHidden: true }).locator("a").all();
  return await Promise.all(
    links.map(async (link) => ({
      name: (await link.innerText()).trim(),
      href: (await link.getAttribute("href")) ?? "",
    })),
  );
}

/** Resolves when the page shows what it has asked for. */
export async function settled(page: Page): Promise<void> {
  await page.locator("h1").first().waitFor();
  await page.locator(".loading").first().waitFor({ state: "detached" });
}
