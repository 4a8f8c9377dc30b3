import { validateHeaderName, validateHeaderValue } from "node:http";
import { isLoopback } from "../../../config/loopback.js";
import type { TlsClient, WrittenDuration } from "../../transport-options.js";
import { Fields } from "../setting-fields.js";
import type { Checked } from "../transport.js";
import { type ClientTls, clientTls } from "../transport-tls.js";
import { type HttpCredentials, httpCredentials } from "./http-credentials.js";

/** Where messages are sent to by HTTP, as a config module writes it. */
export interface HttpOutboundOptions {
  readonly kind: "http";
  readonly url: string;
  /** POST by default. */
  readonly method?: "POST" | "PUT" | "PATCH" | undefined;
  /** "application/octet-stream" by default. */
  readonly contentType?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Headers whose values are secrets, by the names of their variables. */
  readonly headersFrom?: Readonly<Record<string, string>> | undefined;
  readonly auth?: HttpCredentials | undefined;
  readonly tls?: TlsClient | undefined;
  /** Lets a secret travel unencrypted. */
  readonly insecureHttp?: boolean | undefined;
  /** "10s" by default. */
  readonly connectTimeout?: WrittenDuration | undefined;
  /** How long the answer may take, to its last byte; "30s" by default. */
  readonly replyTimeout?: WrittenDuration | undefined;
  /** How long a connection is kept that nothing is sent over; "4s" by default, since many servers close it after 5 s. */
  readonly idleTimeout?: WrittenDuration | undefined;
  /** A larger answer is not kept; 1 MiB by default. */
  readonly maxReplyBytes?: number | undefined;
  /** The longest pause that a Retry-After may ask for; "5m" by default. */
  readonly maxRetryAfter?: WrittenDuration | undefined;
}

export interface HttpOutboundSettings {
  readonly kind: "http";
  readonly url: string;
  readonly method: "POST" | "PUT" | "PATCH";
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly headersFrom: Readonly<Record<string, string>>;
  readonly auth: HttpCredentials | null;
  readonly tls: ClientTls;
  readonly connectTimeoutMs: number;
  readonly replyTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly maxReplyBytes: number;
  readonly maxRetryAfterMs: number;
}

const known = [
  "kind",
  "url",
  "method",
  "contentType",
  "headers",
  "headersFrom",
  "auth",
  "tls",
  "insecureHttp",
  "connectTimeout",
  "replyTimeout",
  "idleTimeout",
  "maxReplyBytes",
  "maxRetryAfter",
] satisfies (keyof HttpOutboundOptions)[];

/** They are the transport's own: a second one would contradict it. */
const ours = [
  "authorization",
  "connection",
  "content-length",
  "content-type",
  "expect",
  "host",
  "idempotency-key",
  "transfer-encoding",
  "upgrade",
  "x-holdfast-epoch",
];

export function checkHttpOutbound(given: unknown, where: string): Checked<HttpOutboundSettings> {
  const fields = new Fields(given, where, known);
  const url = urlOf(fields);
  const settings: HttpOutboundSettings = {
    kind: "http",
    url: url?.href ?? "",
    method: fields.oneOf("method", ["POST", "PUT", "PATCH"] as const, "POST"),
    contentType: fields.text("contentType", "application/octet-stream", "a media type"),
    headers: headersOf(fields, "headers", (header, value) => {
      validateHeaderValue(header, value);
      return true;
    }),
    headersFrom: headersOf(fields, "headersFrom", (_header, value) => /^[A-Za-z_][A-Za-z0-9_]{0,199}$/.test(value)),
    auth: httpCredentials(fields),
    tls: clientTls(fields),
    connectTimeoutMs: fields.duration("connectTimeout", "10s"),
    replyTimeoutMs: fields.duration("replyTimeout", "30s"),
    idleTimeoutMs: fields.duration("idleTimeout", "4s"),
    maxReplyBytes: fields.whole("maxReplyBytes", 1_048_576, { min: 0, max: 1_073_741_824 }),
    maxRetryAfterMs: fields.duration("maxRetryAfter", "5m", 0),
  };
  const isOpen = url?.protocol === "http:" && !isLoopback(url.hostname);
  const hasSecret = settings.auth !== null || Object.keys(settings.headersFrom).length > 0;
  if (hasSecret && isOpen && !fields.flag("insecureHttp", false)) {
    fields.wrong(
      "would let a secret travel unencrypted: use https, or insecureHttp: true where the network is trusted.",
    );
  }
  if (fields.has("tls") && url?.protocol === "http:") fields.wrong("has tls, but its url begins with http:.");
  return fields.checked(settings);
}

function urlOf(fields: Fields): URL | null {
  const value = fields.value("url");
  const url = typeof value === "string" && URL.canParse(value) ? new URL(value) : null;
  if (url === null || !["http:", "https:"].includes(url.protocol)) {
    fields.bad("url", "an address like https://lab.example/messages");
    return null;
  }
  if (url.username !== "" || url.password !== "") fields.bad("url", "without credentials: those stand in auth");
  return url;
}

/** Names in lower case, so that one cannot stand beside another spelling of itself. */
function headersOf(
  fields: Fields,
  field: string,
  isSound: (header: string, value: string) => boolean,
): Readonly<Record<string, string>> {
  const given = fields.value(field) ?? {};
  const read: Record<string, string> = {};
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    fields.bad(field, "an object of names and texts");
    return read;
  }
  for (const [name, value] of Object.entries(given as Record<string, unknown>)) {
    const header = name.toLowerCase();
    if (ours.includes(header)) fields.bad(`${field}["${name}"]`, "left out: the transport sends that header itself");
    else if (typeof value !== "string" || !passes(header, value, isSound)) {
      const mustBe = field === "headers" ? "a header's name and a text" : "a header's name and that of a variable";
      fields.bad(`${field}["${name}"]`, mustBe);
    } else read[header] = value;
  }
  return read;
}

function passes(header: string, value: string, isSound: (header: string, value: string) => boolean): boolean {
  try {
    validateHeaderName(header);
    return isSound(header, value);
  } catch {
    return false;
  }
}
