import Type, { type Static } from "typebox";
import { accessRoles, grantable } from "../access/permission.js";
import type { TokenRow } from "../access/token.js";
import { exactly, nullable, secondsOf, secondsOrNull, time } from "./fields.js";

/** What a token looks like from outside: never its hash, and its secret once. */

export const tokenSchema = exactly({
  id: Type.String(),
  name: Type.String(),
  role: Type.Enum([...accessRoles]),
  grants: Type.Array(Type.Enum([...grantable])),
  created_at: time,
  created_by: Type.String(),
  expires_at: nullable(time),
  revoked_at: nullable(time),
});

export const createdTokenSchema = exactly({ token: tokenSchema, secret: Type.String() });

export type TokenAnswer = Static<typeof tokenSchema>;
export type CreatedTokenAnswer = Static<typeof createdTokenSchema>;

export function showToken(token: TokenRow): TokenAnswer {
  return {
    id: token.id,
    name: token.name,
    role: token.role,
    grants: [...token.grants],
    created_at: secondsOf(token.createdAt),
    created_by: token.createdBy,
    expires_at: secondsOrNull(token.expiresAt),
    revoked_at: secondsOrNull(token.revokedAt),
  };
}
