import type { FastifyDynamicSwaggerOptions } from "@fastify/swagger";
import type { FastifyPluginAsyncTypebox } from "@fastify/type-provider-typebox";
import Type from "typebox";
import { version } from "../version.js";
import type { RouteRight } from "./route-rights.js";

const errorSchema = {
  description: "What went wrong: a code of the catalogue, and a sentence",
  ...Type.Object({
    error: Type.String(),
    message: Type.Optional(Type.String()),
    details: Type.Optional(Type.Object({})),
  }),
};

const description =
  "Who is here, who leads, and what to do about it. What is listed is what this node has: a node without the role gateway " +
  "has only health, role, cluster and metrics.";

/** The document is made from the routes: their schemas, and the permission that each of them declares. */
export const openapiOptions: FastifyDynamicSwaggerOptions = {
  openapi: {
    openapi: "3.1.0",
    info: { title: "Holdfast", version, description },
    components: { securitySchemes: { bearer: { type: "http", scheme: "bearer" } } },
  },
  transform: ({ schema, url, route }) => {
    const right = route.config?.permission;
    const described = {
      ...schema,
      description: right === "anonymous" ? "For everyone." : `Takes the permission ${String(right)}.`,
      security: securityOf(right),
      response: { ...(schema?.response as object | undefined), default: errorSchema },
    };
    return { schema: described, url };
  },
};

function securityOf(right: RouteRight | undefined): Record<string, string[]>[] {
  return right === "anonymous" ? [] : [{ bearer: [] }];
}

export const openapiRoutes: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    "/openapi.json",
    {
      config: { permission: "anonymous" },
      schema: {
        tags: ["documentation"],
        summary: "This document",
        response: { 200: Type.Object({}, { additionalProperties: true }) },
      },
    },
    async () => app.swagger(),
  );
  await Promise.resolve();
};
