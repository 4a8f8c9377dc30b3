/** What went wrong with a request, in words that can be shown as they are. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: unknown;

  constructor(status: number, code: string, message: string, details?: unknown) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

/** The API's own sentence where there is one: every error of the catalogue has it, but for those of leadership. */
export function errorFrom(status: number, body: unknown): ApiError {
  const { error, message, details, leader_id: leader } = fieldsOf(body);
  const code = typeof error === "string" ? error : `HTTP_${status}`;
  if (typeof message === "string") return new ApiError(status, code, message, details);
  if (code === "NOT_LEADER") {
    const who = typeof leader === "string" ? `${leader} leads` : "nobody leads at the moment";
    return new ApiError(status, code, `This node does not lead: ${who}. Try again in a moment.`);
  }
  if (code === "STALE_EPOCH")
    return new ApiError(status, code, "Leadership changed in between: nothing was done. Try again.");
  return new ApiError(status, code, `The node answered ${status}, and did not say why.`);
}

export function unreachable(): ApiError {
  return new ApiError(0, "UNREACHABLE", "The node does not answer. It is tried again by itself.");
}

/** Whatever was thrown, as something that can be shown. */
export function asApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  return new ApiError(0, "UNEXPECTED", thrown instanceof Error ? thrown.message : String(thrown));
}

function fieldsOf(body: unknown): Readonly<Record<string, unknown>> {
  return typeof body === "object" && body !== null ? { ...body } : {};
}
