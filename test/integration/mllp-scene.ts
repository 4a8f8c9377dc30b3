import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { pino } from "pino";
import { type Clock, systemClock } from "../../src/election/clock.js";
import { checkMllpInbound } from "../../src/engine/transports/mllp/mllp-settings.js";
import type { MllpSourceParts } from "../../src/engine/transports/mllp/mllp-source.js";
import { createMllpSource } from "../../src/engine/transports/mllp/mllp-source.js";
import type {
  Arrival,
  Checked,
  Delivery,
  Receipt,
  SourceState,
  WriteGuard,
} from "../../src/engine/transports/transport.js";

/** Time that passes when the test says so. Sockets stay real. */
export class HandClock implements Clock {
  private now = 1_000;
  private readonly waiting = new Set<{ readonly at: number; readonly fire: () => void }>();

  readonly mono = (): number => this.now;
  readonly wall = (): number => Date.UTC(2026, 0, 31, 11, 30) + this.now;
  readonly boot = (): number => this.now;

  wakeAt(at: number, fire: () => void): () => void {
    const own = { at, fire };
    this.waiting.add(own);
    return () => this.waiting.delete(own);
  }

  pass(ms: number): void {
    this.now += ms;
    for (let due = this.due(); due.length > 0; due = this.due()) {
      for (const one of due) if (this.waiting.delete(one)) one.fire();
    }
  }

  private due() {
    return [...this.waiting].filter(({ at }) => at <= this.now).sort((a, b) => a.at - b.at);
  }
}

/** Log lines, as far as tests look at them. */
export function listeningLog() {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: "debug" }, { write: (line: string) => lines.push(JSON.parse(line)) });
  return { log, lines, said: () => lines.map(({ msg }) => String(msg)) };
}

export function settingsOf<Settings extends object>(checked: Checked<Settings>): Settings {
  if (Array.isArray(checked)) throw new Error(checked.join("\n"));
  return checked;
}

/** Stands in for the queue: what is accepted is committed when the test lets it. */
export class StandInIntake {
  readonly arrivals: Arrival[] = [];
  readonly kept = new Map<string, Buffer | null>();
  /** What becomes of the next arrivals; taken at once if left out. */
  decide: (arrival: Arrival) => Promise<"take" | { readonly reason: string; readonly retry: boolean }> = async () =>
    "take";
  malformed: string | null = null;

  readonly accept = async (arrival: Arrival, ack: (receipt: Receipt) => Buffer | null): Promise<Receipt> => {
    this.arrivals.push(arrival);
    const decision = await this.decide(arrival);
    if (decision !== "take") return { kind: "refused", ...decision };
    const id = String(this.arrivals.length);
    const key = arrival.body.toString("latin1").split("|")[9] ?? arrival.body.toString("latin1");
    const duplicate = this.kept.has(key);
    const first = { kind: "accepted", id, duplicate, malformed: this.malformed, ack: null } as const;
    if (!duplicate) this.kept.set(key, ack(first));
    return { ...first, ack: this.kept.get(key) ?? null };
  };

  get bodies(): readonly string[] {
    return this.arrivals.map(({ body }) => body.toString("latin1"));
  }
}

type SceneOptions = Partial<Pick<MllpSourceParts, "clock" | "acks">>;

/** An MLLP source that has not been started. */
export function prepare(
  given: object,
  { clock = systemClock, acks = { mode: "auto", malformed: "AR" } }: SceneOptions = {},
) {
  const intake = new StandInIntake();
  const states: SourceState[] = [];
  const { log, lines, said } = listeningLog();
  const source = createMllpSource({
    name: "adt-in",
    settings: settingsOf(checkMllpInbound({ kind: "mllp", host: "127.0.0.1", port: 0, ...given }, "adt-in.transport")),
    clock,
    log,
    acks,
    accept: intake.accept,
    changed: (state) => states.push(state),
  });
  const dispose = async (): Promise<void> => await source.stop();
  return { source, intake, states, lines, said, [Symbol.asyncDispose]: dispose };
}

/** An MLLP source on a port of its own. */
export async function listen(given: object = {}, options: SceneOptions = {}) {
  const scene = prepare(given, options);
  await scene.source.start();
  return { ...scene, port: scene.source.port ?? 0 };
}

/** A sender that keeps what comes back. */
export class Sender implements AsyncDisposable {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  private readonly waiting: ((frame: string | null) => void)[] = [];
  private readonly frames: string[] = [];
  private received = "";

  constructor(socket: Socket) {
    this.socket = socket;
    socket.setNoDelay(true);
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => {
      this.received += chunk.toString("latin1");
      for (let end = this.received.indexOf("\x1c\r"); end !== -1; end = this.received.indexOf("\x1c\r")) {
        this.give(this.received.slice(1, end));
        this.received = this.received.slice(end + 2);
      }
    });
    this.closed = new Promise((resolve) => {
      socket.once("close", () => {
        resolve();
        for (const wait of this.waiting.splice(0)) wait(null);
      });
    });
  }

  static async to(port: number, options: object = {}): Promise<Sender> {
    const socket = connect({ port, host: "127.0.0.1", ...options });
    await once(socket, "connect");
    return new Sender(socket);
  }

  static async encryptedTo(port: number, options: ConnectionOptions): Promise<Sender> {
    const socket = connectTls({ port, host: "127.0.0.1", ...options });
    await once(socket, "secureConnect");
    return new Sender(socket);
  }

  write(text: string): void {
    this.socket.write(Buffer.from(text, "latin1"));
  }

  send(body: string): void {
    this.write(`\x0b${body}\x1c\r`);
  }

  /** The next frame that comes back; null where the connection ends before. */
  async next(): Promise<string | null> {
    const frame = this.frames.shift();
    if (frame !== undefined) return frame;
    if (this.socket.destroyed) return null;
    return await new Promise((resolve) => this.waiting.push(resolve));
  }

  async ask(body: string): Promise<string | null> {
    this.send(body);
    return await this.next();
  }

  private give(frame: string): void {
    const wait = this.waiting.shift();
    if (wait === undefined) this.frames.push(frame);
    else wait(frame);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.destroy();
    await this.closed;
  }
}

/** MSA-1 and MSA-2 of an acknowledgement, "AA 7". */
export function codeOf(ack: string | null): string | null {
  if (ack === null) return null;
  const msa = ack.split("\r").find((line) => line.startsWith("MSA"));
  return msa === undefined ? null : msa.split("|").slice(1, 3).join(" ");
}

export function adt(controlId: string, { accept = "", application = "", rest = "PID|1||77" } = {}): string {
  return `MSH|^~\\&|HIS|WARD|HF|HUB|20260131||ADT^A01|${controlId}|P|2.5|||${accept}|${application}\r${rest}\r`;
}

/** A receiver that a test answers for. */
export class Receiver implements AsyncDisposable {
  readonly connections: Sender[] = [];
  readonly messages: string[] = [];
  private readonly sockets = new Set<Socket>();
  private readonly server: Server;
  /** Called with each whole frame. By default the message is acknowledged. */
  onFrame: (body: string, sender: Sender) => void = (body, sender) => sender.send(ackFor(body));

  private constructor(server: Server) {
    this.server = server;
    server.on("connection", (socket: Socket) => {
      this.sockets.add(socket);
      socket.once("close", () => this.sockets.delete(socket));
    });
    server.on("ready-socket", (socket: Socket) => void this.serve(new Sender(socket)));
  }

  static async listen(server: Server = createServer(), event = "connection", port = 0): Promise<Receiver> {
    const receiver = new Receiver(server);
    server.on(event, (socket: Socket) => server.emit("ready-socket", socket));
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    return receiver;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  private async serve(sender: Sender): Promise<void> {
    this.connections.push(sender);
    for (let body = await sender.next(); body !== null; body = await sender.next()) {
      this.messages.push(body);
      this.onFrame(body, sender);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

export function ackFor(body: string, code = "AA", controlId = body.split("|")[9] ?? "", text = ""): string {
  return `MSH|^~\\&|LAB|X|HF|HUB|20260131||ACK^A01^ACK|R${controlId}|P|2.5\rMSA|${code}|${controlId}|${text}\r`;
}

export function deliveryOf(body: string): Delivery {
  return { body: Buffer.from(body, "latin1"), headers: {}, attempt: 1, idempotencyKey: "1", epoch: 7n };
}

export const openGuard: WriteGuard = { mayWrite: () => undefined };
export const neverAborted = new AbortController().signal;

export function promiseOfTest<Value = void>() {
  let settle: (value: Value) => void = () => undefined;
  const promise = new Promise<Value>((resolve) => {
    settle = resolve;
  });
  return { promise, resolve: settle };
}

/** A certificate that nobody trusts, signed by itself. It protects nothing: the key is here for everyone to read. */
export const stranger = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgkJxpx5YJwE4pMdEs
H0i+vIVDPbvZUs0XiRGY/YFciLChRANCAATBsy2fIVmi381wZIeMZqTUhhqleoVm
5hn062UPS83CbkYlkCM1+3n66uGIIyQJ1R+M4oXwMlaXOQ2g6Jj7/4dN
-----END PRIVATE KEY-----`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBfTCCASOgAwIBAgIUDqiMCjuCAtTNdrAlrRrKhhnfsaAwCgYIKoZIzj0EAwIw
EzERMA8GA1UEAwwIc3RyYW5nZXIwIBcNMjYxMTE1MTQxMjE2WhgPMjEyNjEwMjIx
NDEyMTZaMBMxETAPBgNVBAMMCHN0cmFuZ2VyMFkwEwYHKoZIzj0CAQYIKoZIzj0D
AQcDQgAEwbMtnyFZot/NcGSHjGak1IYapXqFZuYZ9OtlD0vNwm5GJZAjNft5+urh
iCMkCdUfjOKF8DJWlzkNoOiY+/+HTaNTMFEwHQYDVR0OBBYEFNHAe3iNYztmjlo8
jj8EE7eaCaxaMB8GA1UdIwQYMBaAFNHAe3iNYztmjlo8jj8EE7eaCaxaMA8GA1Ud
EwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIgbfz1VkRWj7ZHjvQ4cbEQacCM
Q5crX1HSYVZ3sytaJP0CIQDIbsMFKIhTdulvfq6wVp2XL7D6vwRLC4R3R2b+Kaxa
Tg==
-----END CERTIFICATE-----`,
};
