import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { framedMessage, frameReader } from "./engine-load.js";

const retryMs = 20;

/** Sends a message, waits for its acknowledgement, sends the next: as most hospital systems do. */
export class MllpSender {
  private readonly socket: Socket;
  private answered: ((ack: Buffer) => void) | null = null;
  private lost: ((error: Error) => void) | null = null;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on(
      "data",
      frameReader((ack) => this.answered?.(ack)),
    );
    socket.on("error", (error) => this.lost?.(error));
    socket.on("close", () => this.lost?.(new Error("the engine closed a connection")));
  }

  /** As soon as somebody listens there. */
  static async to(port: number): Promise<MllpSender> {
    for (;;) {
      const socket = connect({ port, host: "127.0.0.1", noDelay: true });
      const isOpen = await new Promise<boolean>((resolve) => {
        socket.once("connect", () => resolve(true));
        socket.once("error", () => resolve(false));
      });
      if (isOpen) return new MllpSender(socket);
      await pause(retryMs);
    }
  }

  async send(controlId: string): Promise<void> {
    const ack = await new Promise<Buffer>((resolve, reject) => {
      this.answered = resolve;
      this.lost = reject;
      this.socket.write(framedMessage(controlId));
    });
    if (!ack.includes(`MSA|AA|${controlId}`)) throw new Error(`no acknowledgement: ${ack.toString("latin1")}`);
  }

  close(): void {
    this.lost = null;
    this.socket.destroy();
  }
}
