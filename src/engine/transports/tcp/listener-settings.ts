import type { Fields } from "../setting-fields.js";
import { type ListenerTls, listenerTls } from "../transport-tls.js";
import type { ConnectionLimits } from "./inbound-connection.js";
import { checkFiles } from "./tls-files.js";

/** A port that frames come in by. */
export interface ListenerSettings extends ConnectionLimits {
  readonly host: string;
  /** 0 is any that is free. */
  readonly port: number;
  readonly tls: ListenerTls | null;
  readonly maxConnections: number;
  readonly maxFrameBytes: number;
  /** What all connections together may hold. Beyond it long frames are refused, and may come again. */
  readonly maxWaitingBytes: number;
}

export const listenerFields = [
  "kind",
  "host",
  "port",
  "tls",
  "maxConnections",
  "maxFrameBytes",
  "maxWaitingBytes",
  "maxUncommitted",
  "idleTimeout",
  "readTimeout",
  "writeTimeout",
] as const;

export const frameSize = { min: 1_024, max: 1_073_741_824 };
export const usualFrameBytes = 16_777_216;
const usualWaitingBytes = 268_435_456;

/**
 * A dead peer is found by keep-alive, so the idle timeout is only against those that hold a connection and use it for nothing.
 * One frame at a time by default: of several, one that is refused would come again behind those that were not.
 */
export function readListener(fields: Fields): ListenerSettings {
  const tls = listenerTls(fields);
  if (tls !== null) checkFiles(fields, tls);
  const maxFrameBytes = fields.whole("maxFrameBytes", usualFrameBytes, frameSize);
  const maxWaitingBytes = fields.whole("maxWaitingBytes", usualWaitingBytes, { min: 2_048, max: 17_179_869_184 });
  if (maxWaitingBytes < 2 * maxFrameBytes) {
    fields.bad(
      "maxWaitingBytes",
      `at least ${2 * maxFrameBytes}, twice maxFrameBytes, for a frame needs that while it comes`,
    );
  }
  return {
    host: fields.text("host", "0.0.0.0", "an address of this machine"),
    port: fields.whole("port", null, { min: 0, max: 65_535 }),
    tls,
    maxConnections: fields.whole("maxConnections", 200, { min: 1, max: 10_000 }),
    maxFrameBytes,
    maxWaitingBytes,
    maxUncommitted: fields.whole("maxUncommitted", 1, { min: 1, max: 1_000 }),
    idleTimeoutMs: fields.duration("idleTimeout", "1h", 0),
    readTimeoutMs: fields.duration("readTimeout", "1m"),
    writeTimeoutMs: fields.duration("writeTimeout", "30s"),
  };
}
