import type { FastifyReply } from "fastify";

/** Aborted when nobody is left to hear the answer. */
export function hangUpOf({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  raw.once("close", () => gone.abort());
  return gone.signal;
}
