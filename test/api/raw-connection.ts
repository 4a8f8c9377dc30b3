import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** A connection on which a test says what no client would. */
export class RawConnection implements Disposable {
  readonly ended: Promise<void>;
  /** All that came back. */
  received = "";
  private readonly socket: Socket;
  private readonly watchers = new Set<() => void>();

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setEncoding("utf8").on("data", (text: string) => {
      this.received += text;
      for (const look of this.watchers) look();
    });
    socket.on("error", () => undefined); // A reset is an end.
    this.ended = once(socket, "close").then(() => undefined);
  }

  static async open(port: number): Promise<RawConnection> {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    return new RawConnection(socket);
  }

  send(text: string): this {
    this.socket.write(text);
    return this;
  }

  /** Resolves when so much of the text has come back. */
  async got(pattern: RegExp): Promise<void> {
    if (pattern.test(this.received)) return;
    await new Promise<void>((resolve, reject) => {
      const look = (): void => {
        if (!pattern.test(this.received)) return;
        this.watchers.delete(look);
        resolve();
      };
      this.watchers.add(look);
      this.ended.then(() => reject(new Error(`ended before ${pattern}, with:\n${this.received}`)), reject);
    });
  }

  /** What came back as an answer: its status, its headers, its body. */
  get answer(): { readonly status: number; readonly head: string; readonly body: string } {
    const [head = "", body = ""] = this.received.split("\r\n\r\n");
    return { status: Number(head.match(/^HTTP\/1\.1 (\d+)/)?.[1]), head: head.toLowerCase(), body };
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}
