import type { FastifyReply } from "fastify";

/** Aborted when nobody is left to hear the answer, or the server closes, where that is of interest. */
export function hangUpOf({ raw }: FastifyReply, closing: AbortSignal | null = null): AbortSignal {
  const gone = new AbortController();
  const end = (): void => gone.abort();
  if (closing?.aborted === true || raw.destroyed) {
    end();
    return gone.signal;
  }
  closing?.addEventListener("abort", end, { once: true });
  raw.once("close", () => {
    closing?.removeEventListener("abort", end);
    // Where all of it was heard, there is nothing to abort.
    if (!raw.writableFinished) end();
  });
  return gone.signal;
}
