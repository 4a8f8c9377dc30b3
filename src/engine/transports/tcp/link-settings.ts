import type { Fields } from "../setting-fields.js";
import { type ClientTls, clientTls } from "../transport-tls.js";
import { frameSize, usualFrameBytes } from "./listener-settings.js";
import { checkFiles } from "./tls-files.js";

/** A port that frames go out to. */
export interface LinkSettings {
  readonly host: string;
  readonly port: number;
  /** Null where the connection is not encrypted. */
  readonly tls: ClientTls | null;
  readonly connectTimeoutMs: number;
  readonly replyTimeoutMs: number;
  /** The longest answer that is read. */
  readonly maxFrameBytes: number;
}

export const linkFields = ["kind", "host", "port", "tls", "connectTimeout", "replyTimeout", "maxFrameBytes"] as const;

export function readLink(fields: Fields): LinkSettings {
  const tls = readTls(fields);
  if (tls !== null) checkFiles(fields, tls);
  return {
    host: fields.text("host", null, "a host name or an address"),
    port: fields.whole("port", null, { min: 1, max: 65_535 }),
    tls,
    connectTimeoutMs: fields.duration("connectTimeout", "10s"),
    replyTimeoutMs: fields.duration("replyTimeout", "30s"),
    maxFrameBytes: fields.whole("maxFrameBytes", usualFrameBytes, frameSize),
  };
}

/** `true` takes the certificates that this machine trusts. */
function readTls(fields: Fields): ClientTls | null {
  const given = fields.value("tls");
  if (given === undefined || given === false) return null;
  if (given === true) return { ca: null, cert: null, key: null, serverName: null };
  return clientTls(fields);
}
