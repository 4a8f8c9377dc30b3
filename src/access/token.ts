import { createHash, randomBytes } from "node:crypto";
import { HoldfastError } from "../errors.js";
import type { AccessRole, Grant } from "./permission.js";

/** A token as the database keeps it: never the text, only its SHA-256. */
export interface TokenRow {
  readonly id: string;
  readonly name: string;
  readonly role: AccessRole;
  readonly grants: readonly Grant[];
  /** Hexadecimal. */
  readonly hash: string;
  /** Milliseconds since 1970, by the database's clock. */
  readonly createdAt: number;
  readonly createdBy: string;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
}

export interface TokenOrder {
  readonly name: string;
  readonly role: AccessRole;
  readonly grants: readonly Grant[];
  readonly hash: string;
  /** From now, by the database's clock. */
  readonly lifetimeMs: number | null;
  readonly createdBy: string;
}

const prefix = "hf_";
const secretBytes = 32;

/** A new secret. It is shown once, to whoever asked for it. */
export function mintToken(): string {
  return `${prefix}${randomBytes(secretBytes).toString("base64url")}`;
}

/** 256 random bits need no salt and no slow hash: there is nothing to guess. */
export function hashToken(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

export const longestTokenName = 100;
const shortestLifetimeMs = 1_000;
/** Ten years. */
export const longestLifetimeMs = 10 * 365 * 86_400_000;
/** Who calls a node that has no tokens; a token of that name would look like it in the audit. */
const reservedName = "anyone";

const namePattern = new RegExp(`^(?=\\S)[^\\p{C}]{1,${longestTokenName}}(?<=\\S)$`, "u");

/** What every token has to be, whichever way it is made. Throws INVALID_REQUEST. */
export function checkTokenWish({ name, lifetimeMs }: Pick<TokenOrder, "name" | "lifetimeMs">): void {
  if (!namePattern.test(name)) {
    throw invalid("name", `must be 1 to ${longestTokenName} printable characters, without a space at either end`);
  }
  if (name === reservedName)
    throw invalid("name", `must be another than "${reservedName}", which the audit calls callers without a token`);
  if (lifetimeMs !== null && !(lifetimeMs >= shortestLifetimeMs && lifetimeMs <= longestLifetimeMs)) {
    throw invalid("lifetime", "must be from 1 s to ten years");
  }
}

function invalid(field: string, problem: string): HoldfastError {
  const details = { problems: [{ field, problem }] };
  return new HoldfastError("INVALID_REQUEST", `The token's ${field} ${problem}.`, { details });
}
