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

interface ListenerOptions {
  /** 0 takes any that is free. */
  readonly port: number;
  /** The address to bind; all of this machine's by default. */
  readonly host?: string | undefined;
  readonly tls?: TlsListener | undefined;
  /** 200 by default; further ones are refused. */
  readonly maxConnections?: number | undefined;
  /** The longest message; 16 MiB by default. */
  readonly maxFrameBytes?: number | undefined;
  /** What all connections together may hold; 256 MiB by default, twice `maxFrameBytes` at least. Beyond it long messages are refused. */
  readonly maxWaitingBytes?: number | undefined;
  /** How many messages of a connection may wait for their commit before no more are read; 1 by default. */
  readonly maxUncommitted?: number | undefined;
  /** How long a connection may be silent; "1h" by default. */
  readonly idleTimeout?: WrittenDuration | undefined;
  /** How long a message that has begun may take to end; "1m" by default. */
  readonly readTimeout?: WrittenDuration | undefined;
  /** How long an answer may take to be read; "30s" by default. */
  readonly writeTimeout?: WrittenDuration | undefined;
}

interface LinkOptions {
  readonly host: string;
  readonly port: number;
  readonly tls?: boolean | TlsClient | undefined;
  /** "10s" by default. */
  readonly connectTimeout?: WrittenDuration | undefined;
  /** How long the answer may take; "30s" by default. */
  readonly replyTimeout?: WrittenDuration | undefined;
  /** The longest answer that is read; 16 MiB by default. */
  readonly maxFrameBytes?: number | undefined;
}

/** A port that takes HL7 messages in MLLP frames, as a config module writes it. */
export interface MllpInboundOptions extends ListenerOptions {
  readonly kind: "mllp";
  /** How many bytes between two frames are skipped; 1024 by default, 0 closes the connection at the first. */
  readonly maxGarbageBytes?: number | undefined;
}

export interface MllpOutboundOptions extends LinkOptions {
  readonly kind: "mllp";
  /** The acknowledgement is judged ("ack", the default), whatever comes is good ("any"), or nothing is waited for ("none"). */
  readonly answer?: "ack" | "any" | "none" | undefined;
  /** Whether the acknowledgement must carry the message's control id; true by default. */
  readonly matchControlId?: boolean | undefined;
}

/** How messages are told apart on a plain TCP connection. */
export type TcpFraming =
  | { readonly kind: "delimiter"; readonly delimiter: string | Uint8Array; readonly keep?: boolean | undefined }
  | {
      readonly kind: "length";
      readonly bytes: 1 | 2 | 4;
      /** "big" by default. */
      readonly endian?: "big" | "little" | undefined;
      /** Whether the length counts its own bytes. */
      readonly inclusive?: boolean | undefined;
    };

/** A text is framed like a message; bytes go out as they are. */
type TcpAnswer = string | Uint8Array;

/** A port that takes messages of any kind in frames of its own. */
export interface TcpInboundOptions extends ListenerOptions {
  readonly kind: "tcp";
  readonly framing: TcpFraming;
  /** What is answered after the commit; nothing by default, which is also "none". */
  readonly answer?: TcpAnswer | ((body: Buffer) => TcpAnswer) | undefined;
}

export interface TcpOutboundOptions extends LinkOptions {
  readonly kind: "tcp";
  readonly framing: TcpFraming;
  /** Whether an answer is waited for before a message counts as sent. */
  readonly waitForAnswer?: boolean | undefined;
  /** What a good answer is; any by default. */
  readonly expect?: string | Uint8Array | undefined;
}
