import type {
  MllpInboundOptions,
  MllpOutboundOptions,
  TcpInboundOptions,
  TcpOutboundOptions,
} from "./transport-options.js";
import type { DatabaseInboundOptions, DatabaseOutboundOptions } from "./transports/database/database-settings.js";
import type { FileInboundOptions } from "./transports/file/file-inbound-settings.js";
import type { FileOutboundOptions } from "./transports/file/file-outbound-settings.js";
import type { HttpInboundOptions } from "./transports/http/http-inbound-settings.js";
import type { HttpOutboundOptions } from "./transports/http/http-outbound-settings.js";
import type { SftpInboundOptions, SftpOutboundOptions } from "./transports/sftp/sftp-settings.js";

/**
 * How a connection speaks to the outside, as a config module writes it: plain data whose `kind` says which fields there are.
 * The defaults and the checks of each kind are with its transport.
 */
export type InboundTransport =
  | MllpInboundOptions
  | TcpInboundOptions
  | HttpInboundOptions
  | FileInboundOptions
  | SftpInboundOptions
  | DatabaseInboundOptions;

/** The same for where messages go out. */
export type OutboundTransport =
  | MllpOutboundOptions
  | TcpOutboundOptions
  | HttpOutboundOptions
  | FileOutboundOptions
  | SftpOutboundOptions
  | DatabaseOutboundOptions;
