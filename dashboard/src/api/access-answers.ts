/** What the API tells of tokens and of the audit. */

export const accessRoles = ["viewer", "operator", "admin", "agent"] as const;
export type AccessRole = (typeof accessRoles)[number];
export const grantable = ["messages:read", "audit:read"] as const;
export type Grant = (typeof grantable)[number];

export interface Token {
  id: string;
  name: string;
  role: AccessRole;
  grants: Grant[];
  created_at: number;
  created_by: string;
  expires_at: number | null;
  revoked_at: number | null;
}

export interface CreatedToken {
  token: Token;
  secret: string;
}

export interface AuditLine {
  id: string;
  at: number;
  node_id: string | null;
  actor: string;
  action: string;
  target: string | null;
  outcome: string;
  address: string | null;
}
