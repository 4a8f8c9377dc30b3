import type {
  MllpInboundOptions,
  MllpOutboundOptions,
  TcpInboundOptions,
  TcpOutboundOptions,
  WrittenDuration,
} from "./transport-options.js";
import type { FileInboundOptions } from "./transports/file/file-inbound-settings.js";
import type { FileOutboundOptions } from "./transports/file/file-outbound-settings.js";
import type { PollingOptions, WritingOptions } from "./transports/file/folder-settings.js";
import type { HttpInboundOptions } from "./transports/http/http-inbound-settings.js";
import type { HttpOutboundOptions } from "./transports/http/http-outbound-settings.js";

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

export type OutboundTransport =
  | MllpOutboundOptions
  | TcpOutboundOptions
  | HttpOutboundOptions
  | FileOutboundOptions
  | SftpOutboundOptions
  | DatabaseOutboundOptions;

/** Where an SFTP folder is, and who asks. */
interface SftpPlace {
  readonly host: string;
  readonly port?: number | undefined;
  readonly username: string;
  readonly folder: string;
}

export interface SftpInboundOptions extends SftpPlace, PollingOptions {
  readonly kind: "sftp";
}

export interface SftpOutboundOptions extends SftpPlace, WritingOptions {
  readonly kind: "sftp";
}

export interface DatabaseInboundOptions {
  readonly kind: "database";
  readonly url: string;
  readonly query: string;
  readonly every?: WrittenDuration | undefined;
}

export interface DatabaseOutboundOptions {
  readonly kind: "database";
  readonly url: string;
  readonly statement: string;
}
