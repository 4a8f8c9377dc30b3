import type { Permission } from "../access/permission.js";
import { engineRole } from "../engine/engine-role.js";

const mutating: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH", "DELETE"]);

export const isMutating = (method: string): boolean => mutating.has(method);

/** Paths whose writes only the leader of a role takes. */
interface OwnedPaths {
  /** All below it; without a slash at its end also the path itself. */
  readonly prefix: string;
  readonly role: string;
  /** Whoever has none of these may write nothing below the prefix, whether or not there is such an endpoint. */
  readonly permissions: readonly Permission[];
}

const owned: readonly OwnedPaths[] = [
  { prefix: "/v1/", role: "scheduler", permissions: ["jobs:write", "agent", "control"] },
  { prefix: "/messages", role: engineRole, permissions: ["replay"] },
  { prefix: "/connections", role: engineRole, permissions: ["control"] },
  { prefix: "/config", role: engineRole, permissions: ["config"] },
];

/** Who owns the path, if anybody does. A path that cannot be decoded is judged as it is written. */
export function ownerOf(target: string): OwnedPaths | null {
  // A request may also name the whole URL.
  const [path = ""] = target.replace(/^https?:\/\/[^/?#]*/i, "").split(/[?#]/, 1);
  const read = decoded(path);
  return owned.find(({ prefix }) => read === prefix || read.startsWith(prefix.replace(/\/?$/, "/"))) ?? null;
}

/** As the router reads it: an escaped letter is that letter. */
function decoded(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}
