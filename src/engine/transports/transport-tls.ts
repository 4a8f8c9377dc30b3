import { readFileSync } from "node:fs";
import type { SecureContextOptions, TlsOptions } from "node:tls";
import { createSecureContext } from "node:tls";
import { errorText, HoldfastError } from "../../errors.js";
import type { Fields } from "./setting-fields.js";

/** A listener that speaks TLS, by the paths of PEM files. */
export interface ListenerTls {
  readonly cert: string;
  readonly key: string;
  /** Whose client certificates are taken. */
  readonly ca: string | null;
  readonly clientCertificate: "none" | "request" | "require";
}

/** What a client trusts and shows, by the paths of PEM files. */
export interface ClientTls {
  readonly ca: string | null;
  readonly cert: string | null;
  readonly key: string | null;
  readonly serverName: string | null;
}

export function listenerTls(fields: Fields): ListenerTls | null {
  const tls = fields.section("tls", ["cert", "key", "ca", "clientCertificate"]);
  if (tls === null) return null;
  const settings: ListenerTls = {
    cert: tls.text("cert", null, "the path of a PEM file"),
    key: tls.text("key", null, "the path of a PEM file"),
    ca: tls.textOrNull("ca", "the path of a PEM file"),
    clientCertificate: tls.oneOf(
      "clientCertificate",
      ["none", "request", "require"],
      tls.has("ca") ? "require" : "none",
    ),
  };
  if (settings.clientCertificate !== "none" && settings.ca === null) {
    tls.wrong('needs "ca", the authority of the client certificates it asks for.');
  }
  return settings;
}

export function clientTls(fields: Fields): ClientTls {
  const tls = fields.section("tls", ["ca", "cert", "key", "serverName"]);
  if (tls === null) return { ca: null, cert: null, key: null, serverName: null };
  const settings: ClientTls = {
    ca: tls.textOrNull("ca", "the path of a PEM file"),
    cert: tls.textOrNull("cert", "the path of a PEM file"),
    key: tls.textOrNull("key", "the path of a PEM file"),
    serverName: tls.textOrNull("serverName", "the name that the certificate carries"),
  };
  if ((settings.cert === null) !== (settings.key === null)) tls.wrong('needs both "cert" and "key", or neither.');
  return settings;
}

/** Read when the listener starts, so that a renewed certificate needs only a restart of the connection. */
export function readListenerTls(tls: ListenerTls, whose: string): TlsOptions {
  const asked = tls.clientCertificate !== "none";
  return {
    ...usable({ cert: tls.cert, key: tls.key, ca: tls.ca }, whose),
    minVersion: "TLSv1.2",
    requestCert: asked,
    rejectUnauthorized: tls.clientCertificate === "require",
  };
}

export function readClientTls(tls: ClientTls, whose: string): SecureContextOptions & { readonly servername?: string } {
  return {
    ...usable({ cert: tls.cert, key: tls.key, ca: tls.ca }, whose),
    minVersion: "TLSv1.2",
    ...(tls.serverName === null ? {} : { servername: tls.serverName }),
  };
}

/** The files' contents, tried out at once: OpenSSL would otherwise complain at the first connection, in its own words. */
function usable(paths: Readonly<Record<"cert" | "key" | "ca", string | null>>, whose: string): SecureContextOptions {
  const read: Partial<Record<"cert" | "key" | "ca", Buffer>> = {};
  for (const name of ["cert", "key", "ca"] as const) {
    const path = paths[name];
    if (path !== null) read[name] = fileOf(path, `${whose}: tls.${name}`);
  }
  try {
    createSecureContext(read);
  } catch (error) {
    const reason = errorText(error);
    throw new HoldfastError("BAD_SETTINGS", `${whose}: the files of tls cannot be used: ${reason}`, { cause: error });
  }
  return read;
}

function fileOf(path: string, what: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new HoldfastError("BAD_SETTINGS", `${what} ("${path}") cannot be read (${code}).`, { cause: error });
  }
}
