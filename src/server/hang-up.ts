import type { FastifyReply } from "fastify";

/** Aborted when nobody is left to hear the answer. */
export function hangUpOf({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  raw.once("close", () => {
    // Where all of it was heard, there is nothing to abort.
    if (!raw.writableFinished) gone.abort();
  });
  return gone.signal;
}
