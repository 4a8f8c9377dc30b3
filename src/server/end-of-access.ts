import type { FastifyReply } from "fastify";
import type { Access, Caller } from "../access/access.js";

/** A timer that is asked for more fires at once. */
const longestTimerMs = 2 ** 31 - 1;

/**
 * Aborted when the caller of an answer that has no end would not be let in any more: the token was revoked, has expired, or the
 * door is open no longer.
 */
export function endOfAccess(access: Access, caller: Caller | null, { raw }: FastifyReply): AbortSignal {
  const ended = new AbortController();
  if (caller === null) return ended.signal;
  let timer: NodeJS.Timeout | undefined;
  const look = (): void => {
    clearTimeout(timer);
    if (!access.admits(caller)) return stop();
    const leftMs = access.remainingMs(caller);
    if (leftMs < Number.POSITIVE_INFINITY)
      timer = setTimeout(look, Math.min(Math.ceil(leftMs), longestTimerMs)).unref();
  };
  const following = access.follow(look);
  const stop = (): void => {
    clearTimeout(timer);
    following[Symbol.dispose]();
    ended.abort();
  };
  raw.once("close", stop);
  look();
  return ended.signal;
}
