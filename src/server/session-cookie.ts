/**
 * The session of a person at the dashboard: their token in a cookie that no script can read and no other site can send. A node
 * keeps nothing of it, so that every node knows the same sessions, and a token that is revoked ends them all.
 */
const name = "holdfast_session";

const attributes = "Path=/; HttpOnly; SameSite=Strict";

/** The token in a Cookie header. Two different ones are none: one of them was planted by a page of a neighbouring name. */
export function secretInCookie(header: string | undefined): string | null {
  const values = (header ?? "")
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  const [value = "", ...others] = new Set(values);
  return others.length === 0 && /^[\x21-\x7e]{1,512}$/.test(value) ? value : null;
}

export function cookieOf(secret: string, { maxAgeMs, isSecure }: { maxAgeMs: number; isSecure: boolean }): string {
  const lifetime = `Max-Age=${Math.max(0, Math.floor(maxAgeMs / 1_000))}`;
  return `${name}=${secret}; ${attributes}; ${lifetime}${isSecure ? "; Secure" : ""}`;
}

/** Makes the browser forget it. */
export const noCookie = `${name}=; ${attributes}; Max-Age=0`;
