import type { FastifyRequest, FastifySchemaCompiler, FastifySchemaValidationError } from "fastify";
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
    if (check.Check(value)) return { value };
    const overlong = findOverlong(schema, value, "");
    return { error: overlong === null ? check.Errors(value) : [overlong] };
  };
};

interface KnownSchema {
  readonly properties?: Readonly<Record<string, KnownSchema>>;
  readonly items?: KnownSchema;
  readonly maxItems?: number;
}

/**
 * The first list that is longer than it may be. Whatever else is wrong with such a request is not looked for: that takes time
 * by the square of the list's length, and the length is the caller's choice.
 */
function findOverlong(schema: KnownSchema, value: unknown, instancePath: string): FastifySchemaValidationError | null {
  if (typeof value !== "object" || value === null) return null;
  const { properties = {}, items, maxItems } = schema;
  if (maxItems !== undefined && Array.isArray(value) && value.length > maxItems) {
    const message = `must not have more than ${maxItems} items`;
    return { keyword: "maxItems", instancePath, schemaPath: "#", params: { limit: maxItems }, message };
  }
  const inside = Array.isArray(value)
    ? value.map((item: unknown, index) => [String(index), items, item] as const)
    : Object.entries(properties).map(
        ([name, inner]) => [name, inner, (value as Record<string, unknown>)[name]] as const,
      );
  for (const [name, inner, given] of inside) {
    const found = inner === undefined ? null : findOverlong(inner, given, `${instancePath}/${name}`);
    if (found !== null) return found;
  }
  return null;
}

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
  if (request.body === undefined) request.body = {};
  await Promise.resolve();
}
