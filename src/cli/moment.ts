import { parseDuration } from "../config/duration.js";

/** A moment as people write it, as the API takes it: "2h" is so long ago; all else is for the node to judge. */
export function asMoment(written: string): string {
  const ago = parseDuration(written);
  return ago === null ? written : new Date(Date.now() - ago.ms).toISOString();
}
