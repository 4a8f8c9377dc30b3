import { createHash } from "node:crypto";
import type { FastifyPluginAsyncTypebox } from "@fastify/type-provider-typebox";
import Type from "typebox";
import { page, script, style } from "./docs-page.js";

const hashOf = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** Nothing but this page's own script and style runs, and nothing but this node is asked. */
const policy = [
  "default-src 'none'",
  `script-src ${hashOf(script)}`,
  `style-src ${hashOf(style)}`,
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

export const docsRoutes: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    "/docs",
    {
      config: { permission: "anonymous" },
      schema: {
        tags: ["documentation"],
        summary: "The same as a page to read",
        response: { 200: { content: { "text/html": { schema: Type.String() } } } },
      },
    },
    async (_request, reply) =>
      reply
        .type("text/html; charset=utf-8")
        .headers({ "content-security-policy": policy, "referrer-policy": "no-referrer", "x-frame-options": "DENY" })
        .send(page),
  );
  await Promise.resolve();
};
