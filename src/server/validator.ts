import type { FastifyRequest, FastifySchemaCompiler } from "fastify";
import type { TObject } from "typebox";
import { Compile } from "typebox/compile";

/**
 * Checks a request against its schema and changes nothing in it: what is unknown is refused and not dropped, a number in
 * quotes is no number. In a query all is text, so there whole numbers are read as such where the schema wants one.
 */
export const compileValidator: FastifySchemaCompiler<TObject> = ({ schema, httpPart }) => {
  const check = Compile(schema);
  return (given: unknown) => {
    const value = httpPart === "querystring" ? readNumbers(schema, given) : given;
    return check.Check(value) ? { value } : { error: check.Errors(value) };
  };
};

function readNumbers({ properties }: TObject, given: unknown): unknown {
  if (typeof given !== "object" || given === null) return given;
  const read = Object.entries(given).map(([name, value]: [string, unknown]) => {
    const wanted: { readonly type?: unknown } | undefined = properties[name];
    const isNumber = wanted?.type === "integer" && typeof value === "string" && /^-?\d{1,15}$/.test(value);
    return [name, isNumber ? Number(value) : value];
  });
  return Object.fromEntries(read);
}

/** For endpoints whose body may be left out: none means the same as an empty one. */
export async function withoutBodyIsEmpty(request: FastifyRequest): Promise<void> {
  request.body ??= {};
  await Promise.resolve();
}
