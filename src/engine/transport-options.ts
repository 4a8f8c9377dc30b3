/**
 * How a connection speaks to the outside, as a config module writes it: plain data whose `kind` says which fields there are.
 * The defaults and the checks of each kind are with its transport.
 */
export type InboundTransport = MllpInbound | TcpInbound | HttpInbound | FileInbound | SftpInbound | DatabaseInbound;

export type OutboundTransport =
  | MllpOutbound
  | TcpOutbound
  | HttpOutbound
  | FileOutbound
  | SftpOutbound
  | DatabaseOutbound;

/** "500ms", "5s", "1m", "24h", "7d". */
export type WrittenDuration = `${number}${"ms" | "s" | "m" | "h" | "d"}`;

/** A listener that speaks TLS. The files are read when it starts. */
export interface TlsListener {
  /** Paths of PEM files. */
  readonly cert: string;
  readonly key: string;
  /** Whose client certificates are taken. */
  readonly ca?: string | undefined;
  /** Whether a sender must show a certificate of `ca`. */
  readonly clientCertificate?: "none" | "request" | "require" | undefined;
}

/** How a connection to a TLS listener is made. `true` takes the certificates that this machine trusts. */
export interface TlsClient {
  readonly ca?: string | undefined;
  /** The certificate to show, where the other side asks for one. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** The name that the other side's certificate carries, where it is not its host. */
  readonly serverName?: string | undefined;
}

interface Listening {
  readonly port: number;
  /** The address to bind; all of this machine's by default. */
  readonly host?: string | undefined;
  readonly tls?: TlsListener | undefined;
  readonly maxConnections?: number | undefined;
  readonly maxFrameBytes?: number | undefined;
  /** How long a connection may be silent. */
  readonly idleTimeout?: WrittenDuration | undefined;
  /** How long a message that has begun may take to end. */
  readonly readTimeout?: WrittenDuration | undefined;
  /** How long an answer may take to be read. */
  readonly writeTimeout?: WrittenDuration | undefined;
}

interface Connecting {
  readonly host: string;
  readonly port: number;
  readonly tls?: true | TlsClient | undefined;
  readonly connectTimeout?: WrittenDuration | undefined;
  /** How long the answer may take. */
  readonly replyTimeout?: WrittenDuration | undefined;
  readonly maxFrameBytes?: number | undefined;
}

export interface MllpInbound extends Listening {
  readonly kind: "mllp";
}

export interface MllpOutbound extends Connecting {
  readonly kind: "mllp";
}

/** How messages are told apart on a plain TCP connection. */
export type TcpFraming =
  | { readonly kind: "delimiter"; readonly delimiter: string | Uint8Array; readonly keep?: boolean | undefined }
  | {
      readonly kind: "length";
      readonly bytes: 1 | 2 | 4;
      readonly endian?: "big" | "little" | undefined;
      /** Whether the length counts its own bytes. */
      readonly inclusive?: boolean | undefined;
    };

export interface TcpInbound extends Listening {
  readonly kind: "tcp";
  readonly framing: TcpFraming;
  /** What is answered after the commit; nothing by default. */
  readonly answer?: string | Uint8Array | undefined;
}

export interface TcpOutbound extends Connecting {
  readonly kind: "tcp";
  readonly framing: TcpFraming;
  /** Whether an answer is waited for before a message counts as sent. */
  readonly waitForAnswer?: boolean | undefined;
}

export interface HttpInbound {
  readonly kind: "http";
  readonly port: number;
  readonly host?: string | undefined;
  readonly tls?: TlsListener | undefined;
  /** Where messages are posted to; "/" by default. */
  readonly path?: string | undefined;
  readonly maxBodyBytes?: number | undefined;
  readonly readTimeout?: WrittenDuration | undefined;
}

export interface HttpOutbound {
  readonly kind: "http";
  readonly url: string;
  readonly method?: "POST" | "PUT" | "PATCH" | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly tls?: TlsClient | undefined;
  readonly replyTimeout?: WrittenDuration | undefined;
}

interface Polling {
  readonly every?: WrittenDuration | undefined;
  /** Which files are taken, like "*.hl7"; all by default. */
  readonly pattern?: string | undefined;
  /** Where a file goes that was taken in; it is deleted by default. */
  readonly archive?: string | undefined;
  /** Where a file goes that cannot be taken in. */
  readonly errors?: string | undefined;
  readonly maxFileBytes?: number | undefined;
  /** How long a file must have been left alone, before it counts as whole. */
  readonly settled?: WrittenDuration | undefined;
}

export interface FileInbound extends Polling {
  readonly kind: "file";
  readonly folder: string;
}

export interface FileOutbound {
  readonly kind: "file";
  readonly folder: string;
  /** The name of each file; "{id}.hl7" by default. */
  readonly fileName?: string | undefined;
}

/** Where an SFTP folder is, and who asks. */
interface SftpPlace {
  readonly host: string;
  readonly port?: number | undefined;
  readonly username: string;
  readonly password?: string | undefined;
  /** The path of a private key. */
  readonly key?: string | undefined;
  /** The server's key, as SHA-256 in base64: another one is refused. */
  readonly hostKey?: string | undefined;
  readonly folder: string;
}

export interface SftpInbound extends SftpPlace, Polling {
  readonly kind: "sftp";
}

export interface SftpOutbound extends SftpPlace {
  readonly kind: "sftp";
  readonly fileName?: string | undefined;
}

export interface DatabaseInbound {
  readonly kind: "database";
  readonly url: string;
  /** Answers the rows to take in, oldest first. */
  readonly query: string;
  /** Run for each row once it is taken in, with the row's columns as parameters. */
  readonly done?: string | undefined;
  readonly every?: WrittenDuration | undefined;
}

export interface DatabaseOutbound {
  readonly kind: "database";
  readonly url: string;
  /** Run for each message: $1 is its body, $2 its idempotency key. */
  readonly statement: string;
}
