import { createHash, randomBytes } from "node:crypto";
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
export function mintToken(random: (size: number) => Buffer = randomBytes): string {
  return `${prefix}${random(secretBytes).toString("base64url")}`;
}

/** 256 random bits need no salt and no slow hash: there is nothing to guess. */
export function hashToken(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}
