import type { FastifyReply, FastifyRequest } from "fastify";
import { type ErrorCode, HoldfastError } from "../errors.js";
import { jobLimits } from "../jobs/new-job.js";
import type { Answer } from "./answer.js";
import { errorAnswer, internal } from "./error-answer.js";
import type { ServedNode } from "./served-node.js";

/** What Fastify refuses by itself, in our own words. */
const refusals: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ["UNSUPPORTED_MEDIA_TYPE", "Send the body as application/json."],
  FST_ERR_CTP_EMPTY_JSON_BODY: ["BAD_REQUEST", "The body is empty: send JSON, or leave Content-Type out."],
  FST_ERR_CTP_INVALID_JSON_BODY: ["BAD_REQUEST", "The body is not JSON."],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ["BAD_REQUEST", "The body is not as long as Content-Length says."],
  FST_ERR_BAD_URL: ["BAD_REQUEST", "The path is not a valid URL."],
  FST_ERR_MAX_PARAM_LENGTH: ["NOT_FOUND", "There is nothing under a name of that length."],
};

/** States of the node that it logs by itself, once, and not again for each request that meets them. */
const expected: ReadonlySet<unknown> = new Set<ErrorCode>(["DRAINING", "DATABASE_AWAY", "CLOSED", "TOO_BUSY"]);

/** One field of a request that is not what it must be. */
interface Problem {
  readonly field: string;
  readonly problem: string;
}

export function notFound(request: FastifyRequest): HoldfastError {
  return new HoldfastError(
    "NOT_FOUND",
    `There is no ${request.method} of this path; /openapi.json lists what there is.`,
  );
}

/** Every failure as an answer. What is nobody's input is told to the log, and only there. */
export function failureAnswer(node: ServedNode, request: FastifyRequest, error: unknown): Answer {
  const ours = inOurWords(error, request);
  const told = ours === null ? null : errorAnswer(ours, node);
  if (told === null || told.body.error === "INTERNAL") {
    // The line has the request's id by itself.
    request.log.error({ err: error, route: request.routeOptions.url }, "a request failed");
    return internal(node, request.id);
  }
  if (told.status >= 500) {
    const level = expected.has(told.body.error) ? "debug" : "warn";
    request.log[level](
      { err: error, route: request.routeOptions.url, status: told.status },
      "a request was not served",
    );
  }
  if (told.status !== 401) return told;
  return { ...told, headers: { ...told.headers, "www-authenticate": 'Bearer realm="holdfast"' } };
}

export function sendAnswer(reply: FastifyReply, { status, headers, body }: Answer): FastifyReply {
  // Not by the schema of the route, which knows only what is answered when all goes well.
  return reply
    .code(status)
    .headers(headers)
    .type("application/json; charset=utf-8")
    .serializer((said: unknown) => JSON.stringify(said))
    .send(body);
}

function inOurWords(error: unknown, { routeOptions }: FastifyRequest): HoldfastError | null {
  if (error instanceof HoldfastError) return error;
  if (!(error instanceof Error)) return null;
  const { code = "", validation, validationContext = "body" } = error as FastifyFailure;
  if (validation !== undefined) return invalid(validationContext, validation);
  if (code === "FST_ERR_CTP_BODY_TOO_LARGE") {
    const message = `The body is larger than the ${routeOptions.bodyLimit} bytes that this endpoint takes.`;
    return new HoldfastError("BODY_TOO_LARGE", message, { cause: error });
  }
  const [known, message] = refusals[code] ?? [];
  if (known !== undefined && message !== undefined) return new HoldfastError(known, message, { cause: error });
  // A body that is cut off, or JSON that would reach into a prototype.
  if (error.name === "SyntaxError" && (error as FastifyFailure).statusCode === 400) {
    return new HoldfastError("BAD_REQUEST", "The body is not JSON.", { cause: error });
  }
  return null;
}

interface FastifyFailure extends Error {
  readonly code?: string;
  readonly statusCode?: number;
  readonly validation?: readonly SchemaProblem[];
  readonly validationContext?: string;
}

export interface SchemaProblem {
  readonly keyword: string;
  readonly instancePath: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly message?: string | undefined;
}

function invalid(where: string, problems: readonly SchemaProblem[]): HoldfastError {
  const told = problems.flatMap((problem) => describe(where, problem));
  const message = told.map(({ field, problem }) => `${field} ${problem}`).join("; ");
  return new HoldfastError("INVALID_REQUEST", `${message}.`, { details: { problems: told } });
}

/** Names the field, never its value: a secret may have been put into the wrong one. */
function describe(
  where: string,
  { keyword, instancePath, params, message = "is not valid" }: SchemaProblem,
): Problem[] {
  const at = instancePath.slice(1).replaceAll("/", ".").replaceAll("~1", "/").replaceAll("~0", "~").slice(0, 100);
  const within = (name: unknown): string => [at, String(name)].filter((part) => part !== "").join(".");
  // Each unknown field by itself; a line about all of them follows, unless there are so many that nobody counts further.
  if (keyword === "boolean") return [{ field: at, problem: "is not a field here" }];
  if (keyword === "additionalProperties") return [];
  if (keyword === "required" && Array.isArray(params.requiredProperties)) {
    return params.requiredProperties.map((name) => ({ field: within(name), problem: "is missing" }));
  }
  return [{ field: at === "" ? `the ${where}` : at, problem: inWords(keyword, params) ?? message }];
}

/** What it must be, where the validator's own words tell too little. */
function inWords(keyword: string, { type, allowedValues, pattern }: SchemaProblem["params"]): string | null {
  if (keyword === "type" && typeof type === "string") return `must be ${/^[aeiou]/.test(type) ? "an" : "a"} ${type}`;
  if (keyword === "enum" && Array.isArray(allowedValues)) return `must be one of ${allowedValues.join(", ")}`;
  if (keyword === "pattern" && String(pattern) === jobLimits.name.source) return `must be ${jobLimits.nameInWords}`;
  return null;
}
