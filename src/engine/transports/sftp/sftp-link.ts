import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { connect as connectTcp, type Socket } from "node:net";
import type SftpClient from "ssh2-sftp-client";
import type { Clock } from "../../../election/clock.js";
import { errorText, HoldfastError } from "../../../errors.js";
import { within } from "../../../lifecycle/within.js";
import { namedSecret } from "../named-secret.js";
import type { SftpPlace } from "./sftp-place.js";

/** The connection's requests, as the SSH library names them. */
export type SftpSession = Awaited<ReturnType<SftpClient["connect"]>>;

export type SftpStep<Result> = (session: SftpSession, done: (error: unknown, result?: Result) => void) => void;

type Loader = () => Promise<{ readonly default: typeof SftpClient }>;

interface Link {
  readonly session: SftpSession;
  readonly socket: Socket;
}

const firstPauseMs = 1_000;
const longestPauseMs = 30_000;
const keepAliveMs = 15_000;

/** A step that the server did not answer: whether it was done is not known. */
export class Unanswered extends Error {}

/**
 * One connection to a server, made when it is needed and kept. A server that does not let us in is not asked again at once:
 * many of them lock out who tries too often.
 */
export class SftpLink {
  private readonly place: SftpPlace;
  private readonly clock: Clock;
  private readonly whose: string;
  private readonly load: Loader;
  private link: Link | null = null;
  private linking: Promise<Link> | null = null;
  private rest: { readonly until: number; readonly pauseMs: number; readonly reason: string } | null = null;
  private isClosed = false;

  constructor(place: SftpPlace, clock: Clock, whose: string, load: Loader = () => import("ssh2-sftp-client")) {
    this.place = place;
    this.clock = clock;
    this.whose = whose;
    this.load = load;
  }

  /** What can be told to be wrong without the server: a missing package, variable or key. */
  async check(): Promise<void> {
    await this.library();
    this.credentials();
  }

  /** The session, new where there is none. Throws where there can be none now. */
  async session(): Promise<SftpSession> {
    if (this.isClosed) throw new HoldfastError("CLOSED", `${this.whose} is closed.`);
    if (this.link !== null) return this.link.session;
    this.linking ??= this.connect().finally(() => {
      this.linking = null;
    });
    return (await this.linking).session;
  }

  /**
   * One step, by the library's own callback. What is not answered in time ends the connection. With `on` it is asked on that
   * connection or not at all: an open file's handle means another file, or none, on the next one.
   */
  async step<Result>(ask: SftpStep<Result>, on?: SftpSession): Promise<Result> {
    const session = on ?? (await this.session());
    if (this.link?.session !== session) throw new Error("the connection was lost");
    const { replyTimeoutMs } = this.place;
    const answer = new Promise<Result>((resolve, reject) => {
      ask(session, (error, result) => {
        if (error === undefined || error === null) resolve(result as Result);
        else if (statusOf(error) === null) reject(new Unanswered(`the connection was lost (${errorText(error)})`));
        else reject(error instanceof Error ? error : new Error(errorText(error)));
      });
    });
    return await within(replyTimeoutMs, answer, () => {
      this.drop(session);
      throw new Unanswered(`no answer within ${replyTimeoutMs / 1_000} s`);
    });
  }

  async close(): Promise<void> {
    this.isClosed = true;
    const { link } = this;
    this.link = null;
    link?.socket.destroy();
    await this.linking?.then(
      ({ socket }) => socket.destroy(),
      () => undefined,
    );
  }

  /** Opens it again for a source that is started anew. */
  reopen(): void {
    this.isClosed = false;
  }

  private drop(session: SftpSession): void {
    if (this.link?.session !== session) return;
    this.link.socket.destroy();
    this.link = null;
  }

  private async connect(): Promise<Link> {
    const { rest, clock } = this;
    if (rest !== null && clock.mono() < rest.until) throw new Error(rest.reason);
    try {
      const link = await this.open();
      this.link = link;
      this.rest = null;
      link.socket.once("close", () => this.drop(link.session));
      return link;
    } catch (error) {
      const pauseMs = rest === null ? firstPauseMs : Math.min(rest.pauseMs * 2, longestPauseMs);
      this.rest = { until: clock.mono() + pauseMs, pauseMs, reason: errorText(error) };
      throw error;
    }
  }

  private async open(): Promise<Link> {
    const { host, port, username, connectTimeoutMs, hostKeys } = this.place;
    const Client = await this.library();
    const credentials = this.credentials();
    // A socket of our own can be destroyed, which the library's cannot.
    const socket = connectTcp({ host, port, keepAlive: true, noDelay: true });
    const strangers: string[] = [];
    const hostVerifier = (key: Buffer): boolean => {
      const shown = `SHA256:${createHash("sha256").update(key).digest("base64").replace(/=+$/, "")}`;
      if (hostKeys.length === 0 || hostKeys.includes(shown)) return true;
      strangers.push(shown);
      return false;
    };
    // Without listeners of its own the library writes to the console.
    const silent = { error: () => undefined, end: () => undefined, close: () => undefined };
    const connecting = new Client(this.whose, silent).connect({
      ...credentials,
      sock: socket,
      username,
      hostVerifier,
      readyTimeout: connectTimeoutMs,
      keepaliveInterval: keepAliveMs,
      keepaliveCountMax: 2,
      // Compressed, the library throws where nobody hears it when a connection ends in the middle of a listing.
      algorithms: { compress: ["none"] },
    });
    const refused = once(socket);
    try {
      const late = () => {
        throw new Error(`no connection within ${connectTimeoutMs / 1_000} s`);
      };
      const session = await within(connectTimeoutMs, Promise.race([connecting, refused]), late);
      return { session, socket };
    } catch (error) {
      socket.destroy();
      connecting.catch(() => undefined);
      const [stranger] = strangers;
      if (stranger === undefined)
        throw new Error(`${host}:${port} does not let us in: ${errorText(error)}`, { cause: error });
      const way = "if its key was changed on purpose, set hostKey to that";
      throw new Error(`${host}:${port} is not the server it should be: its key is ${stranger}; ${way}`, {
        cause: error,
      });
    }
  }

  private credentials(): { readonly password: string } | { readonly privateKey: string; readonly passphrase?: string } {
    const { passwordFrom, privateKey, privateKeyFrom, passphraseFrom } = this.place;
    if (passwordFrom !== null) return { password: namedSecret(passwordFrom, this.whose) };
    const key = privateKeyFrom === null ? this.keyFile(privateKey ?? "") : namedSecret(privateKeyFrom, this.whose);
    if (passphraseFrom === null) return { privateKey: key };
    return { privateKey: key, passphrase: namedSecret(passphraseFrom, this.whose) };
  }

  private keyFile(path: string): string {
    try {
      return readFileSync(path, "utf8");
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const problem = `${this.whose}: privateKey ("${path}") cannot be read (${code}).`;
      throw new HoldfastError("BAD_SETTINGS", problem, { cause: error });
    }
  }

  private async library(): Promise<typeof SftpClient> {
    try {
      return (await this.load()).default;
    } catch (error) {
      const way = "npm install ssh2-sftp-client";
      const problem = `${this.whose} needs the package ssh2-sftp-client, which cannot be loaded here: ${way}`;
      throw new HoldfastError("BAD_SETTINGS", problem, { cause: error });
    }
  }
}

/** The status of an answer of the server: 2 no such file, 3 not allowed, 4 failed. Null where it did not answer. */
export function statusOf(error: unknown): number | null {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return typeof code === "number" ? code : null;
}

async function once(socket: Socket): Promise<never> {
  return await new Promise((_resolve, reject) => {
    socket.once("error", (error: NodeJS.ErrnoException) => reject(new Error(error.code ?? error.message)));
    socket.once("close", () => reject(new Error("it hung up")));
  });
}
