import { isLoopback } from "../../../config/loopback.js";
import type { TlsListener, WrittenDuration } from "../../transport-options.js";
import { Fields } from "../setting-fields.js";
import type { Checked } from "../transport.js";
import { type ListenerTls, listenerTls } from "../transport-tls.js";
import { type HttpCredentials, httpCredentials } from "./http-credentials.js";

/** A listener that takes messages by POST or PUT, as a config module writes it. */
export interface HttpInboundOptions {
  readonly kind: "http";
  /** 0 takes any that is free. */
  readonly port: number;
  /** All addresses of this machine by default. */
  readonly host?: string | undefined;
  /** Where messages are sent to; "/" by default. */
  readonly path?: string | undefined;
  /** POST and PUT by default. */
  readonly methods?: readonly ("POST" | "PUT")[] | undefined;
  /** The media types that are taken; any by default. */
  readonly contentTypes?: readonly string[] | undefined;
  readonly tls?: TlsListener | undefined;
  readonly auth?: HttpCredentials | undefined;
  /** Lets a secret travel unencrypted. */
  readonly insecureHttp?: boolean | undefined;
  /** 16 MiB by default. */
  readonly maxBodyBytes?: number | undefined;
  /** What all requests under way may hold; 256 MiB by default. Further ones are asked to come again. */
  readonly maxWaitingBytes?: number | undefined;
  /** How long a request that has begun may take to end; "30s" by default. */
  readonly readTimeout?: WrittenDuration | undefined;
  /** How long a connection may be silent; "60s" by default. */
  readonly idleTimeout?: WrittenDuration | undefined;
  /** 200 by default. */
  readonly maxConnections?: number | undefined;
  /** The header that a resend has in common with the first; "idempotency-key" by default. */
  readonly keyHeader?: string | undefined;
  /** Headers of the request that are kept with the message. */
  readonly keepHeaders?: readonly string[] | undefined;
  /** What a message that was kept is answered with; 202 by default. */
  readonly status?: 200 | 201 | 202 | undefined;
  /** Whether what cannot be read is answered with 422 ("refuse", the default) or as any other. It is kept all the same. */
  readonly malformed?: "refuse" | "accept" | undefined;
}

export interface HttpInboundSettings {
  readonly kind: "http";
  readonly port: number;
  readonly host: string;
  readonly path: string;
  readonly methods: readonly string[];
  /** Empty: any. */
  readonly contentTypes: readonly string[];
  readonly tls: ListenerTls | null;
  readonly auth: HttpCredentials | null;
  readonly maxBodyBytes: number;
  readonly maxWaitingBytes: number;
  readonly readTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly maxConnections: number;
  readonly keyHeader: string;
  readonly keepHeaders: readonly string[];
  readonly status: 200 | 201 | 202;
  readonly malformed: "refuse" | "accept";
}

const known = [
  "kind",
  "port",
  "host",
  "path",
  "methods",
  "contentTypes",
  "tls",
  "auth",
  "insecureHttp",
  "maxBodyBytes",
  "maxWaitingBytes",
  "readTimeout",
  "idleTimeout",
  "maxConnections",
  "keyHeader",
  "keepHeaders",
  "status",
  "malformed",
] satisfies (keyof HttpInboundOptions)[];

const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
const mebibyte = 1_048_576;

export function checkHttpInbound(given: unknown, where: string): Checked<HttpInboundSettings> {
  const fields = new Fields(given, where, known);
  const settings: HttpInboundSettings = {
    kind: "http",
    port: fields.whole("port", null, { min: 0, max: 65_535 }),
    host: fields.text("host", "0.0.0.0", "an address of this machine"),
    path: fields.matching("path", "/", /^\/[^?#\s]*$/, 'a path that begins with "/", without "?" and "#"'),
    methods: fields.texts("methods", ["POST", "PUT"], /^(?:POST|PUT)$/, '"POST" and "PUT"'),
    contentTypes: fields
      .texts("contentTypes", [], /^[\w.+-]+\/[\w.+*-]+$/, 'media types like "application/hl7-v2" or "text/*"')
      .map((type) => type.toLowerCase()),
    tls: listenerTls(fields),
    auth: httpCredentials(fields),
    maxBodyBytes: fields.whole("maxBodyBytes", 16 * mebibyte, { min: 1, max: 1_024 * mebibyte }),
    maxWaitingBytes: fields.whole("maxWaitingBytes", 256 * mebibyte, { min: 1, max: 65_536 * mebibyte }),
    readTimeoutMs: fields.duration("readTimeout", "30s", 100),
    idleTimeoutMs: fields.duration("idleTimeout", "60s", 100),
    maxConnections: fields.whole("maxConnections", 200, { min: 1, max: 65_535 }),
    keyHeader: fields.matching("keyHeader", "idempotency-key", headerName, "the name of a header").toLowerCase(),
    keepHeaders: fields.texts("keepHeaders", [], headerName, "names of headers").map((name) => name.toLowerCase()),
    status: fields.oneOf("status", [200, 201, 202] as const, 202),
    malformed: fields.oneOf("malformed", ["refuse", "accept"] as const, "refuse"),
  };
  const isOpen = settings.tls === null && !isLoopback(settings.host);
  if (settings.auth !== null && isOpen && !fields.flag("insecureHttp", false)) {
    fields.wrong("would let a secret travel unencrypted: set tls, or insecureHttp: true where the network is trusted.");
  }
  if (settings.maxWaitingBytes < settings.maxBodyBytes) fields.bad("maxWaitingBytes", "at least maxBodyBytes");
  return fields.checked(settings);
}
