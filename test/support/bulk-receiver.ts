import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { ackFor } from "../integration/mllp-scene.js";

const endOfFrame = Buffer.from("\x1c\r", "latin1");

/** An MLLP receiver for messages of any size, one at a time: their chunks are put together once, when the last one is there. */
export class BulkReceiver implements AsyncDisposable {
  readonly messages: Buffer[] = [];
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();

  private constructor() {
    this.server = createServer((socket) => this.serve(socket));
  }

  static async listen(): Promise<BulkReceiver> {
    const receiver = new BulkReceiver();
    receiver.server.listen(0, "127.0.0.1");
    await once(receiver.server, "listening");
    return receiver;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private serve(socket: Socket): void {
    const chunks: Buffer[] = [];
    this.sockets.add(socket);
    socket.once("close", () => this.sockets.delete(socket));
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      if (!Buffer.concat(chunks.slice(-2)).subarray(-2).equals(endOfFrame)) return;
      const body = Buffer.concat(chunks.splice(0)).subarray(1, -2);
      this.messages.push(body);
      socket.write(`\x0b${ackFor(body.toString("latin1", 0, 500))}\x1c\r`);
    });
  }
}
