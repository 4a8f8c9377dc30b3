import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import { HoldfastError } from "../../errors.js";

export const loopback = "127.0.0.1";

// Below the range from which the kernels of Linux and macOS take ports for outgoing connections: a server that restarts on its
// port must not find a client of somebody else there.
const lowest = 20_000;
const highest = 32_767;
const attempts = 100;

/** A port that is free now. Somebody else may take it before the server does; the start then takes another. */
export async function pickFreePort(): Promise<number> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const port = randomInt(lowest, highest + 1);
    if (!(await isPortTaken(port))) return port;
  }
  throw new HoldfastError("EMBEDDED_FAILED", `No free port found between ${lowest} and ${highest} on ${loopback}.`);
}

export async function isPortTaken(port: number): Promise<boolean> {
  const server = createServer();
  return await new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRINUSE") resolve(true);
      else
        reject(
          new HoldfastError("EMBEDDED_FAILED", `Port ${port} on ${loopback} cannot be used: ${error.message}`, {
            cause: error,
          }),
        );
    });
    server.listen({ host: loopback, port, exclusive: true }, () => server.close(() => resolve(false)));
  });
}
