import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * A client may ask again on a connection before it has its answer; the next answer gets the connection when the one before it is
 * over. Where the connection ends first, Node.js tells nobody who prepares such an answer: a stream would go on for ever, for
 * nobody. Here they are told as everybody else is, by the answer's `close`.
 */
export function endQueuedAnswers(server: Server): void {
  const queues = new WeakMap<Socket, Set<ServerResponse>>();
  server.on("request", ({ socket }: IncomingMessage, answer: ServerResponse) => {
    if (answer.socket !== null) return;
    const queue = queues.get(socket) ?? queueOf(socket);
    queues.set(socket, queue);
    queue.add(answer);
    answer.once("close", () => queue.delete(answer));
  });
}

function queueOf(socket: Socket): Set<ServerResponse> {
  const queue = new Set<ServerResponse>();
  socket.once("close", () => {
    for (const answer of queue) {
      if (answer.socket !== null || answer.closed) continue;
      answer.destroy();
      answer.emit("close");
    }
  });
  return queue;
}
