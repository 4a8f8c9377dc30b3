import type pg from "pg";
import { streamOf } from "./session.js";

/** Longer than any transaction of Holdfast's own takes, also one that has to wait for a standby. */
const longestMs = 30_000;

/**
 * Waits for an answer, but not for ever: a wire that fell silent tells nobody, and whoever waits for it would neither go on nor
 * give up. After so long the connection is cut, upon which whatever is under way on it fails.
 */
export async function answered<Result>(
  client: pg.ClientBase,
  asked: Promise<Result>,
  withinMs: number = longestMs,
): Promise<Result> {
  const late = setTimeout(() => streamOf(client).destroy(new Error(`no answer within ${withinMs} ms`)), withinMs);
  try {
    return await asked;
  } finally {
    clearTimeout(late);
  }
}
