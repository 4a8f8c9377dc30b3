import { HoldfastError } from "../../errors.js";

declare const brand: unique symbol;
type Branded<Base, Name extends string> = Base & { readonly [brand]: Name };

/** The name of something that exactly one node does. */
export type Role = Branded<string, "Role">;
/** A node's name, stable over restarts where the operator pins it. */
export type NodeId = Branded<string, "NodeId">;
/** Random per process: tells a restarted node from the one that held the lease. */
export type Incarnation = Branded<string, "Incarnation">;
/** The fencing token. Unique and strictly increasing for a role (G2); 0 before the first election. */
export type Epoch = Branded<bigint, "Epoch">;
/** Names one session at the database for as long as the server runs: never reused, opaque to everyone but the store. */
export type SessionRef = Branded<string, "SessionRef">;
/** Which database this is: a replica that was promoted, or a restored copy, has another one. */
export type DatabaseIdentity = Branded<string, "DatabaseIdentity">;

const rolePattern = /^[a-z0-9_-]{1,63}$/;

export function parseRole(name: string): Role {
  if (!rolePattern.test(name)) {
    throw new HoldfastError(
      "UNKNOWN_ROLE",
      `"${name}" is not a role name: use 1 to 63 of the characters a-z, 0-9, "_" and "-".`,
    );
  }
  return name as Role;
}

export const epochOf = (value: bigint | number | string): Epoch => BigInt(value) as Epoch;
