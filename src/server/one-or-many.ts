import type { FastifySchema, FastifySchemaCompiler } from "fastify";
import type { TObject } from "typebox";
import Type from "typebox";
import { compileValidator } from "./validator.js";

/**
 * A body that is one thing, or many under a name. As a choice of two schemas it would be refused for everything that is wrong
 * with it as either; whether the name is there tells which is meant.
 */
export function oneOrMany<One extends TObject, Many extends TObject>(name: string, one: One, many: Many) {
  const compile: FastifySchemaCompiler<FastifySchema> = (given) => {
    // Fastify compiles a part at a time, and each of ours is an object's schema.
    if (given.httpPart !== "body") return compileValidator({ ...given, schema: given.schema as TObject });
    const checkOne = compileValidator({ ...given, schema: one });
    const checkMany = compileValidator({ ...given, schema: many });
    return (body: unknown) => {
      const isMany = typeof body === "object" && body !== null && Object.hasOwn(body, name);
      return (isMany ? checkMany : checkOne)(body);
    };
  };
  return { body: Type.Union([one, many]), compile };
}
