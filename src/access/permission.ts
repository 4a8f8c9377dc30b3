/** What a caller may do. Each endpoint names one of them, or is open to anyone. */
export const permissions = [
  "monitoring:read",
  "control",
  "replay",
  "jobs:write",
  "agent",
  "config",
  "tokens",
  "audit:read",
  "messages:read",
] as const;

export type Permission = (typeof permissions)[number];

export const accessRoles = ["viewer", "operator", "admin", "agent"] as const;

/** A bundle of permissions that a token carries. Not a role of an election. */
export type AccessRole = (typeof accessRoles)[number];

/** Granted by name only, to whoever needs them; no bundle but the administrator's has even one. */
export const grantable = ["messages:read", "audit:read"] as const satisfies readonly Permission[];

export type Grant = (typeof grantable)[number];

const bundles: Readonly<Record<AccessRole, readonly Permission[]>> = {
  viewer: ["monitoring:read"],
  operator: ["monitoring:read", "control", "replay", "jobs:write"],
  // The bodies of messages are the customers' own: running a cluster gives no right to read them.
  admin: permissions.filter((permission) => permission !== "messages:read"),
  agent: ["agent"],
};

export function permissionsOf(role: AccessRole, grants: readonly Grant[]): ReadonlySet<Permission> {
  return new Set([...bundles[role], ...grants]);
}
