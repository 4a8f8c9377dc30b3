import { setMaxListeners } from "node:events";
import type { FastifyPluginAsyncTypebox } from "@fastify/type-provider-typebox";
import { fromDatabase, toDatabase } from "./database-wait.js";
import type { Limits } from "./limits.js";
import type { ServedNode } from "./served-node.js";

/** What the routes of a resource are made from. */
export interface RouteParts {
  readonly node: ServedNode;
  readonly limits: Limits;
}

type RoutePlugin = FastifyPluginAsyncTypebox<RouteParts>;

/** The server as a route sees it. */
export type RouteApp = Parameters<RoutePlugin>[0];

/** Adds one route, or a few that differ by a word. */
export type Route = (app: RouteApp, parts: RouteParts) => void;

/** A resource: its routes, each a function of its own. */
export function routesOf(...routes: readonly Route[]): RoutePlugin {
  return async (app, parts) => {
    for (const add of routes) add(app, parts);
    await Promise.resolve();
  };
}

/** Waits for the database as long as a caller may. */
export async function read<Result>({ limits }: RouteParts, reading: Promise<Result>): Promise<Result> {
  return await fromDatabase(limits.databaseWaitMs, reading);
}

/** The same for a change, which is work under way: a node that drains waits for it, and takes no other. */
export async function change<Result>({ node, limits }: RouteParts, write: () => Promise<Result>): Promise<Result> {
  return await node.work.run(async () => await toDatabase(node, limits.databaseWaitMs, write));
}

/** Aborted when the server closes: whoever waits there does not hold up its end. */
export function closingOf(app: RouteApp): AbortSignal {
  const closing = new AbortController();
  // Each answer that takes its time listens to it.
  setMaxListeners(0, closing.signal);
  app.addHook("preClose", async () => {
    closing.abort();
    await Promise.resolve();
  });
  return closing.signal;
}
