import { HoldfastError } from "../errors.js";

/** What a leader is refused with that would work on a queue of another role: two of them could work on it at once. */
export function ownedByAnother(queue: string, owner: string, role: string): HoldfastError {
  return new HoldfastError(
    "REFUSED",
    `Queue "${queue}" belongs to role "${owner}", not "${role}": give it that role, or another name.`,
  );
}
