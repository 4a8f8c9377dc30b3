import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type RequestOptions,
  validateHeaderValue,
} from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { HoldfastError } from "../../../errors.js";
import { untilEither } from "../../../lifecycle/either.js";
import { namedSecret } from "../named-secret.js";
import { DestinationStanding } from "../standing.js";
import type {
  Delivery,
  DeliveryOutcome,
  Destination,
  DestinationParts,
  DestinationState,
  WriteGuard,
} from "../transport.js";
import { readClientTls } from "../transport-tls.js";
import { authorizationOf } from "./http-credentials.js";
import { type ExchangeEnd, exchange } from "./http-exchange.js";
import type { HttpOutboundSettings } from "./http-outbound-settings.js";
import { verdictOn } from "./http-verdict.js";

/** What every request has in common: made once, when the first is sent, from files and variables. */
interface Opened {
  readonly headers: Readonly<Record<string, string>>;
  readonly open: (options: RequestOptions) => ClientRequest;
  readonly agent: HttpAgent;
}

/** Sends each message as one request, over connections that are kept. Redirects are not followed. */
export class HttpDestination implements Destination {
  private readonly parts: DestinationParts<HttpOutboundSettings>;
  private readonly standing: DestinationStanding;
  private readonly closing = new AbortController();
  private opened: Opened | null = null;

  constructor(parts: DestinationParts<HttpOutboundSettings>) {
    this.parts = parts;
    this.standing = new DestinationStanding(parts);
  }

  get state(): DestinationState {
    return this.standing.state;
  }

  async send(delivery: Delivery, guard: WriteGuard, signal: AbortSignal): Promise<DeliveryOutcome> {
    if (this.closing.signal.aborted) return { kind: "unreached", reason: "the connection is closed" };
    let opened: Opened;
    try {
      opened = this.opened ??= this.prepare();
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      return this.judged({ kind: "unreached", reason: error.message });
    }
    if (this.state.kind !== "connected") this.standing.become("connecting");
    const end = await untilEither(signal, this.closing.signal, async (either) => {
      return await this.request(opened, delivery, guard, either);
    });
    if (end.kind !== "answered") return this.judged(end);
    const { settings, clock } = this.parts;
    return this.judged(verdictOn(end.reply, settings.maxRetryAfterMs, clock.wall()));
  }

  async close(): Promise<void> {
    this.standing.become("closed");
    this.closing.abort();
    this.opened?.agent.destroy();
  }

  private async request(
    opened: Opened,
    { body, idempotencyKey, epoch }: Delivery,
    guard: WriteGuard,
    signal: AbortSignal,
  ): Promise<ExchangeEnd> {
    const { settings, clock } = this.parts;
    const headers = {
      ...opened.headers,
      "content-length": String(body.length),
      "idempotency-key": headerValue(idempotencyKey),
      "x-holdfast-epoch": String(epoch),
    };
    const attempt = () => exchange(opened.open({ headers }), body, guard, signal, clock, settings);
    for (;;) {
      const end = await attempt();
      // Nothing was written, and the next connection is another: kept ones come to an end, and then it is a new one.
      if (end.kind !== "unreached" || !end.isStale || signal.aborted) return end;
    }
  }

  private judged(end: Exclude<ExchangeEnd, { kind: "answered" }> | DeliveryOutcome): DeliveryOutcome {
    if (end.kind === "delivered" || end.kind === "rejected") {
      // What the other side says of a message is that message's; the connection has its verdict.
      this.standing.become("connected", end.kind === "delivered" ? null : verdictAlone(end.reason));
      return end;
    }
    this.standing.become("failed", end.reason);
    return { kind: end.kind, reason: end.reason };
  }

  private prepare(): Opened {
    const { settings, name } = this.parts;
    const whose = `Outbound "${name}"`;
    const headers: Record<string, string> = { "content-type": settings.contentType, ...settings.headers };
    for (const [header, variable] of Object.entries(settings.headersFrom)) {
      headers[header] = namedSecret(variable, whose);
    }
    if (settings.auth !== null) headers.authorization = authorizationOf(settings.auth, whose);
    checkHeaders(headers, whose);
    const kept = { keepAlive: true, timeout: settings.idleTimeoutMs, scheduling: "lifo" } as const;
    const { method, url } = settings;
    if (url.startsWith("http:")) {
      const agent = new HttpAgent(kept);
      return { headers, agent, open: (options) => httpRequest(url, { ...options, method, agent }) };
    }
    const agent = new HttpsAgent({ ...kept, ...readClientTls(settings.tls, whose) });
    return { headers, agent, open: (options) => httpsRequest(url, { ...options, method, agent }) };
  }
}

const verdictAlone = (reason: string): string => reason.split(": ", 1)[0] ?? "";

/** Keys are texts of any kind, and headers are not: what does not fit is escaped as in a URL. */
function headerValue(key: string): string {
  return key.replace(/[^\x20-\x7e]/gu, (character) =>
    /\p{Cs}/u.test(character) ? "?" : encodeURIComponent(character),
  );
}

/** A variable may hold what no header can carry, a line break at its end above all. */
function checkHeaders(headers: Readonly<Record<string, string>>, whose: string): void {
  for (const [header, value] of Object.entries(headers)) {
    try {
      validateHeaderValue(header, value);
    } catch (error) {
      const wrong = `the secret for the header "${header}" has a character that no header can carry, perhaps a line break`;
      throw new HoldfastError("BAD_SETTINGS", `${whose}: ${wrong}.`, { cause: error });
    }
  }
}
