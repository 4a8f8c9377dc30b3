import { isLoopback } from "../config/loopback.js";

/**
 * Whether a token that was given for one address may be sent to another: to the same origin; from one that is encrypted to
 * another that is; and within this machine. Whoever can write an address into the registry must not be handed the tokens of
 * those who read it.
 */
export function mayFollow(named: string, told: string): boolean {
  if (!URL.canParse(told)) return false;
  const [from, to] = [new URL(named), new URL(told)];
  if (from.origin === to.origin || (from.protocol === "https:" && to.protocol === "https:")) return true;
  return [from, to].every(({ protocol, hostname }) => protocol === "http:" && isLoopback(hostname));
}
