/** What is kept of a failure; the rest is in the application's own log. */
const longestReason = 500;

/** Enough to be cut from, so that an error as long as a body is not searched from end to end. */
const longestText = 4 * longestReason;

/** A body shorter than this also occurs by chance, and hiding it would only garble the reason. */
const shortestBody = 8;

/**
 * Why a handler failed, on one line and without the message's body: who may see that something failed need not be allowed to
 * see what. What else a handler writes into its error is its own to answer for.
 */
export function failureReason(error: unknown, body: string): string {
  const reason = cut(withoutBody(textOf(error), body).slice(0, longestText));
  return reason === "" ? "the handler failed and did not say why" : reason;
}

/** One line of at most 500 characters, without what a database or a terminal would choke on. */
export function cut(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\u2028\u2029\s]+/gu, " ").trim();
  return line.length <= longestReason ? line : `${line.slice(0, longestReason - 3)}...`;
}

/** Anything can be thrown, also what cannot be read. */
function textOf(error: unknown): string {
  try {
    if (typeof error === "string") return error;
    if (error instanceof Error || hasMessage(error)) return nameAndMessage(error);
  } catch {
    return "the handler threw something that cannot be read";
  }
  return `the handler threw ${error === null ? "null" : `a value of type ${typeof error}`} instead of an error`;
}

function hasMessage(value: unknown): value is { readonly message: unknown } {
  return typeof value === "object" && value !== null && "message" in value;
}

function nameAndMessage(error: {
  readonly message: unknown;
  readonly name?: unknown;
  readonly code?: unknown;
}): string {
  const { message, name, code } = error;
  const title = typeof name === "string" && name !== "" ? name : "Error";
  // A connection that was refused on each address has no message of its own, only a code.
  if (typeof message !== "string" || message.trim() === "") return typeof code === "string" ? code : title;
  return title === "Error" ? message : `${title}: ${message}`;
}

function withoutBody(text: string, body: string): string {
  const unquoted = withoutExcerpt(text);
  return body.length < shortestBody ? unquoted : unquoted.replaceAll(body, "[body]");
}

/** JSON.parse quotes what it could not read. */
function withoutExcerpt(text: string): string {
  const verdict = text.lastIndexOf(" is not valid JSON");
  const excerpt = text.indexOf('"');
  return excerpt === -1 || excerpt > verdict ? text : `${text.slice(0, excerpt)}the text${text.slice(verdict)}`;
}
