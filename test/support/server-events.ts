/** One event as it came over the wire. */
export interface ServerEvent {
  readonly event: string;
  readonly id: string;
  readonly data: Record<string, unknown>;
}

/** A listener to `GET /v1/events`, or to another stream, as a browser would be one. */
export class ServerEvents implements AsyncDisposable {
  readonly headers: Headers;
  /** How many comments came: they keep the connection alive. */
  comments = 0;
  private readonly gone: AbortController;
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  private readonly decoder = new TextDecoder();
  private readonly pieces: string[] = [];
  private rest = "";

  private constructor(response: Response, gone: AbortController) {
    if (response.body === null || !response.ok) throw new Error(`the node answered ${response.status}`);
    this.headers = response.headers;
    this.gone = gone;
    this.reader = response.body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
    void this.read();
  }

  static async open(
    url: string,
    {
      after,
      lastEventId,
      token,
      path = "/v1/events",
      openWithinMs,
    }: {
      readonly after?: string;
      readonly lastEventId?: string;
      readonly token?: string;
      readonly path?: string;
      /** Rejects where the node has not begun to answer by then; else it may take as long as it takes. */
      readonly openWithinMs?: number;
    } = {},
  ): Promise<ServerEvents> {
    const gone = new AbortController();
    const late = openWithinMs === undefined ? undefined : setTimeout(() => gone.abort(), openWithinMs);
    const headers = {
      ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
    const query = after === undefined ? "" : `?after=${encodeURIComponent(after)}`;
    try {
      return new ServerEvents(await fetch(`${url}${path}${query}`, { headers, signal: gone.signal }), gone);
    } finally {
      clearTimeout(late);
    }
  }

  private readonly waiting: (() => void)[] = [];
  private isOver = false;

  private async read(): Promise<void> {
    try {
      for (;;) {
        const { done, value } = await this.reader.read();
        if (done) break;
        const parts = (this.rest + this.decoder.decode(value, { stream: true })).split("\n\n");
        this.rest = parts.pop() ?? "";
        this.comments += parts.filter((part) => part.startsWith(":")).length;
        this.pieces.push(...parts.filter((part) => !part.startsWith(":")));
        this.wake();
      }
    } catch {
      // The connection broke: that is its end, too.
    }
    this.isOver = true;
    this.wake();
  }

  private wake(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
  }

  /** The next event; null where the stream has ended. */
  async next(): Promise<ServerEvent | null> {
    while (this.pieces.length === 0 && !this.isOver) await new Promise<void>((resolve) => this.waiting.push(resolve));
    const piece = this.pieces.shift();
    if (piece === undefined) return null;
    const fields = Object.fromEntries(piece.split("\n").map((line) => line.split(/: (.*)/s).slice(0, 2)));
    const { event = "", id = "", data = "{}" } = fields as Record<string, string>;
    return { event, id, data: JSON.parse(data) as Record<string, unknown> };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.gone.abort();
    await Promise.resolve();
  }
}
