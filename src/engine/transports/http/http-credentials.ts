import { createHash, timingSafeEqual } from "node:crypto";
import { namedSecret } from "../named-secret.js";
import type { Fields } from "../setting-fields.js";

/** Who may send, or who we are. The secret stands in the environment, under the name given here. */
export type HttpCredentials =
  | { readonly kind: "basic"; readonly username: string; readonly passwordFrom: string }
  | { readonly kind: "bearer"; readonly tokenFrom: string };

export function httpCredentials(fields: Fields): HttpCredentials | null {
  const auth = fields.section("auth", ["kind", "username", "passwordFrom", "tokenFrom"]);
  if (auth === null) return null;
  if (auth.oneOf("kind", ["basic", "bearer"], "basic") === "bearer") {
    if (auth.has("username") || auth.has("passwordFrom")) auth.wrong('of kind "bearer" has only "tokenFrom".');
    return { kind: "bearer", tokenFrom: auth.variable("tokenFrom") };
  }
  if (auth.has("tokenFrom")) auth.wrong('of kind "basic" has "username" and "passwordFrom".');
  // A colon would end the name, and whatever follows it would count as the password.
  const username = auth.matching("username", null, /^[^:\p{Cc}]+$/u, "a name without a colon");
  return { kind: "basic", username, passwordFrom: auth.variable("passwordFrom") };
}

/** The value of an Authorization header. */
export function authorizationOf(credentials: HttpCredentials, whose: string): string {
  if (credentials.kind === "bearer") return `Bearer ${namedSecret(credentials.tokenFrom, whose)}`;
  const { username, passwordFrom } = credentials;
  return `Basic ${Buffer.from(`${username}:${namedSecret(passwordFrom, whose)}`).toString("base64")}`;
}

/** Compares digests, which are as long as each other whatever was sent, so that the time taken tells nothing. */
export function isAuthorized(sent: string | undefined, expected: string): boolean {
  const [scheme = "", ...rest] = (sent ?? "").split(" ");
  // The scheme's name may be written in any case; what follows may not.
  const same = `${scheme.charAt(0).toUpperCase()}${scheme.slice(1).toLowerCase()} ${rest.join(" ").trim()}`;
  return timingSafeEqual(digest(same), digest(expected));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
