import type { FastifyPluginAsyncTypebox } from "@fastify/type-provider-typebox";
import type { FastifyReply, FastifyRequest } from "fastify";
import Type from "typebox";
import { HoldfastError } from "../errors.js";
import { exactly } from "./fields.js";
import type { PageFile, PageFiles } from "./page-files.js";

/** Nothing but the page's own files runs, and nobody but this node is asked. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const pageHeaders = {
  "content-security-policy": policy,
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

/** The name of such a file carries the hash of what is in it: another content is another name. */
const keptForever = "public, max-age=31536000, immutable";

/** The dashboard. It holds no data, so anybody may load it; what it shows it asks for with the caller's own token. */
export const dashboardRoutes: FastifyPluginAsyncTypebox<{ files: PageFiles }> = async (app, { files }) => {
  const config = { permission: "anonymous" } as const;
  const tags = ["dashboard"];

  app.get(
    "/",
    {
      config,
      schema: {
        tags,
        summary: "The dashboard",
        response: { 200: { content: { "text/html": { schema: Type.String() } } } },
      },
    },
    async (request, reply) => {
      const page = files.get("index.html");
      if (page === undefined) {
        throw new HoldfastError("NOT_FOUND", "The dashboard was not built into this node: `npm run build` does that.");
      }
      return send(request, reply.header("cache-control", "no-store"), page);
    },
  );

  app.get(
    "/assets/*",
    {
      config,
      schema: {
        tags,
        summary: "What the dashboard is made of",
        params: exactly({ "*": Type.String({ maxLength: 200 }) }),
        response: { 200: { content: { "*/*": { schema: Type.String() } } } },
      },
    },
    async (request, reply) => {
      const file = files.get(`assets/${request.params["*"]}`);
      if (file === undefined) throw new HoldfastError("NOT_FOUND", "The dashboard has no such file: load it anew.");
      return send(request, reply.header("cache-control", keptForever), file);
    },
  );
  await Promise.resolve();
};

function send({ headers }: FastifyRequest, reply: FastifyReply, file: PageFile): FastifyReply {
  reply.headers({ ...pageHeaders, vary: "accept-encoding" }).type(file.type);
  const isCompressed = file.gzipped !== null && takesGzip(headers["accept-encoding"]);
  if (isCompressed) reply.header("content-encoding", "gzip");
  return reply.send(isCompressed ? file.gzipped : file.bytes);
}

/** Whether a header names gzip, and not to refuse it. */
export function takesGzip(accepted: string | string[] | undefined): boolean {
  return String(accepted ?? "")
    .toLowerCase()
    .split(",")
    .map((one) => one.split(";").map((part) => part.trim()))
    .some(([coding, quality]) => coding === "gzip" && !/^q=0(\.0*)?$/.test(quality ?? ""));
}
