import type { FastifyInstance } from "fastify";
import type { Permission } from "../access/permission.js";
import type { Limits } from "./limits.js";

/** What a caller needs to get to a route; "anonymous" is open to everyone. */
export type RouteRight = Permission | "anonymous";

declare module "fastify" {
  interface FastifyContextConfig {
    readonly permission?: RouteRight;
    /**
     * true: each call is a line in the audit, also where it changes nothing: who looked is worth knowing. false: only those that
     * are refused for want of a right; for what machines do all day, and what leaves its trace elsewhere.
     */
    readonly audited?: boolean;
    /** Only ends work that the leader gave out: a leader that drains still takes it, for as long as its gate is open. */
    readonly endsWork?: boolean;
  }
}

/** Denies by default: a route that does not say who may call it does not come to be, nor one that takes any amount. */
export function requireRights(app: FastifyInstance, { maxBodyBytes }: Pick<Limits, "maxBodyBytes">): void {
  app.addHook("onRoute", (route) => {
    if ((route.bodyLimit ?? 0) > maxBodyBytes) {
      throw new Error(`${String(route.method)} ${route.url} takes more than ${maxBodyBytes} bytes (maxBodyBytes).`);
    }
    if (route.config?.permission === undefined) {
      throw new Error(
        `${String(route.method)} ${route.url} declares no permission: put one, or "anonymous", in its config.`,
      );
    }
  });
}
