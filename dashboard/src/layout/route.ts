import { createStore, useStore } from "../api/store.js";

/** Where the page is: `#/messages/42?status=error` is the path "/messages", the rest ["42"] and a query. */
export interface Route {
  readonly path: string;
  readonly rest: readonly string[];
  readonly query: URLSearchParams;
}

export function routeOf(hash: string): Route {
  const [way = "", query = ""] = hash.replace(/^#/, "").split("?", 2);
  const [first = "", ...rest] = way.split("/").filter((part) => part !== "");
  return { path: `/${first}`, rest: rest.map(decoded), query: new URLSearchParams(query) };
}

/** A link into the page. Every part may hold anything: it is encoded here. */
export function hrefTo(
  path: string,
  rest: readonly string[] = [],
  query: Readonly<Record<string, string>> = {},
): string {
  const given = Object.entries(query).filter(([, value]) => value !== "");
  const asked = given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
  return `#${[path, ...rest.map(encodeURIComponent)].join("/")}${asked}`;
}

const route = createStore<Route>(routeOf(globalThis.location?.hash ?? ""));
globalThis.addEventListener?.("hashchange", () => route.set(routeOf(location.hash)));

export function useRoute(): Route {
  return useStore(route);
}

/** A changed filter is no step to go back to. */
export function setQuery(name: string, value: string): void {
  const { path, rest, query } = route.get();
  const next = new URLSearchParams(query);
  if (value === "") next.delete(name);
  else next.set(name, value);
  history.replaceState(null, "", hrefTo(path, rest, Object.fromEntries(next)));
  route.set(routeOf(location.hash));
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
