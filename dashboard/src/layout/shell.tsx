import { useEffect, useRef, useState } from "preact/hooks";
import { useMay, useSession } from "../api/session.js";
import { type Page, pageGroups } from "../pages/page.js";
import { pages } from "../pages/pages.js";
import { Empty } from "../parts/notes.js";
import { AwayNote, LiveMark, OldNewsNote } from "./connection.js";
import { Icon } from "./icon.js";
import { hrefTo, useRoute } from "./route.js";
import { SessionMenu } from "./session-menu.js";

/** The frame around every page: where one is, where one can go, whether it is live, who one is. */
export function Shell() {
  const route = useRoute();
  const session = useSession();
  const [navOpen, setNavOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  const page = pages.find(({ path }) => path === route.path);
  const landed = useRef(false);

  useEffect(() => {
    document.title = page === undefined ? "Holdfast" : `${page.title} · Holdfast`;
    setNavOpen(false);
    // A link within the page is a new page to whoever listens to it; the first one is announced by the browser itself.
    if (landed.current) main.current?.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true });
    landed.current = true;
    window.scrollTo(0, 0);
  }, [page?.path, route.rest.join("/")]);

  useEffect(() => {
    if (!navOpen) return;
    const close = ({ key }: KeyboardEvent): void => {
      if (key === "Escape") setNavOpen(false);
    };
    document.addEventListener("keydown", close);
    return () => document.removeEventListener("keydown", close);
  }, [navOpen]);

  return (
    <div class={navOpen ? "shell nav-open" : "shell"}>
      <button type="button" class="skip-link" onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <header class="topbar">
        <button
          type="button"
          class="icon-button"
          aria-label={navOpen ? "Close the menu" : "Open the menu"}
          aria-expanded={navOpen}
          aria-controls="nav"
          onClick={() => setNavOpen(!navOpen)}
        >
          <Icon name={navOpen ? "close" : "menu"} />
        </button>
        <span class="topbar-title">{session?.cluster ?? "Holdfast"}</span>
        <LiveMark />
      </header>
      <Sidebar current={page} />
      {navOpen ? <div class="nav-backdrop" aria-hidden="true" onClick={() => setNavOpen(false)} /> : null}
      <main ref={main} id="main" tabIndex={-1}>
        <AwayNote />
        <OldNewsNote />
        <CurrentPage page={page} key={page?.path} />
      </main>
    </div>
  );
}

function CurrentPage({ page }: { readonly page: Page | undefined }) {
  const may = useMay(page?.permission ?? "monitoring:read");
  const route = useRoute();
  if (page === undefined) return <Empty title="There is no such page">Take one from the menu.</Empty>;
  if (!may) return <Empty title="Not for this token">It takes the permission {page.permission}.</Empty>;
  const Content = page.component;
  return <Content rest={route.rest} />;
}

function Sidebar({ current }: { readonly current: Page | undefined }) {
  const session = useSession();
  return (
    <aside class="sidebar" id="nav">
      <div class="brand">
        <svg class="brand-mark" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true">
          <rect width="24" height="24" rx="6" />
          <path d="M8 5v14M16 5v14M8 12h8" />
        </svg>
        <div class="brand-text">
          <strong>Holdfast</strong>
          <span title="The cluster">{session?.cluster}</span>
        </div>
        <LiveMark />
      </div>
      <nav aria-label="Pages">
        {pageGroups.map((group) => (
          <NavGroup key={group} group={group} current={current} />
        ))}
      </nav>
      <SessionMenu />
    </aside>
  );
}

function NavGroup({ group, current }: { readonly group: Page["group"]; readonly current: Page | undefined }) {
  const session = useSession();
  const shown = pages.filter((page) => page.group === group && session?.permissions.includes(page.permission) === true);
  if (shown.length === 0) return null;
  return (
    <div class="nav-group">
      <h2>{group}</h2>
      <ul>
        {shown.map((page) => (
          <li key={page.path}>
            <a href={hrefTo(page.path)} {...(page === current ? { "aria-current": "page" as const } : {})}>
              <Icon name={page.icon} />
              {page.title}
            </a>
          </li>
        ))}
      </ul>
    </div>
  );
}
