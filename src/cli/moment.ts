import { InvalidArgumentError } from "commander";
import { parseDuration } from "../config/duration.js";

/** A moment as people write it, as the API takes it: "2h" is so long ago. What may be a time is for the node to judge. */
export function asMoment(written: string): string {
  const ago = parseDuration(written);
  if (ago !== null) return new Date(Date.now() - ago.ms).toISOString();
  if (Number.isNaN(Number(written)) && Number.isNaN(Date.parse(written))) {
    throw new InvalidArgumentError('It must be like "2h" (ago), 2026-11-14T02:00:00Z, or seconds since 1970.');
  }
  return written;
}
