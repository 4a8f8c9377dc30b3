import { expect, it } from "vitest";
import { toHoldfastError } from "./sql-errors.js";

const fromServer = (code: string): Error => Object.assign(new Error("no"), { severity: "ERROR", code });

it.each([
  ["a connection that is refused", Object.assign(new Error("connect"), { code: "ECONNREFUSED" }), "DATABASE_AWAY"],
  ["a connection that ends", new Error("Connection terminated unexpectedly"), "DATABASE_AWAY"],
  ["a server that shuts down", fromServer("57P01"), "DATABASE_AWAY"],
  ["a replica", fromServer("25006"), "DATABASE_READ_ONLY"],
  ["a full disk", fromServer("53100"), "DATABASE_REFUSED"],
  [
    "a certificate for another name",
    Object.assign(new Error("x"), { code: "ERR_TLS_CERT_ALTNAME_INVALID" }),
    "DATABASE_REFUSED",
  ],
  ["a mistake in this code", new TypeError("json.payloads.split is not a function"), "BROKEN_INVARIANT"],
  ["an answer that is no JSON", new SyntaxError("Unexpected end of JSON input"), "BROKEN_INVARIANT"],
])("%s", (_what, error, code) => {
  expect(toHoldfastError(error, "reading jobs")).toMatchObject({ code, cause: error });
});
