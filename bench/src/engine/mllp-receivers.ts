import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { controlIdOf, framedAck, frameReader } from "./engine-load.js";

/** Listens on so many ports, and acknowledges whatever comes. Answers with the ports. */
export async function openReceivers(
  count: number,
  onMessage: (controlId: string) => void = () => undefined,
): Promise<readonly number[]> {
  return await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer({ noDelay: true }, (socket) => {
        const read = frameReader((frame) => {
          const controlId = controlIdOf(frame);
          onMessage(controlId);
          socket.write(framedAck(controlId));
        });
        socket.on("data", read);
        // Whoever is killed takes its connections along.
        socket.on("error", () => undefined);
      }).listen(0, "127.0.0.1");
      await once(server, "listening");
      return (server.address() as AddressInfo).port;
    }),
  );
}
