import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, describe, expect, it } from "vitest";
import { type ConfigOptions, resolveConfig } from "../../config/config.js";
import { connectionOf } from "./connection.js";

const directory = mkdtempSync(join(tmpdir(), "holdfast-connection-"));
afterAll(() => rmSync(directory, { recursive: true }));

const connection = (store: NonNullable<ConfigOptions["store"]>) => {
  const config = resolveConfig({ store }, false);
  return connectionOf(config, config.store.url.reveal());
};

const refusalOf = (act: () => unknown): string => {
  try {
    act();
    return "";
  } catch (error) {
    return (error as Error).message;
  }
};

describe("a connection", () => {
  it("is made from a URL, or from its parts, with the password beside them", () => {
    const url = "postgres://me@localhost/app";
    expect(connection({ url, password: "hush" })).toMatchObject({
      host: "localhost",
      user: "me",
      database: "app",
      password: "hush",
      ssl: false,
    });
    expect(connection({ server: "localhost", database: "app", username: "me" })).toEqual({
      host: "localhost",
      port: 5432,
      database: "app",
      user: "me",
      ssl: false,
    });
  });

  it("takes the password and the TLS that are stated beside a URL, whatever the URL says", () => {
    const open = (store: NonNullable<ConfigOptions["store"]>) => new pg.Client(connection(store));
    expect(open({ url: "postgres://me@localhost/app", password: "hush" }).password).toBe("hush");
    expect(open({ url: "postgres://me:other@localhost/app", password: "hush" }).password).toBe("hush");
    expect(open({ url: "postgres://me:own@localhost/app" }).password).toBe("own");
    expect(open({ url: "postgres://db.example/app?sslmode=no-verify", tls: "verify-full" }).ssl).toMatchObject({
      rejectUnauthorized: true,
    });
  });

  it.each(["localhost", "127.0.0.1", "::1", "/var/run/postgresql"])("is plain by default on %s", (server) => {
    expect(connection({ server }).ssl).toBe(false);
    expect(connection({ server, tls: "require" }).ssl).toEqual({ rejectUnauthorized: false });
  });

  it.each(["db.example", "127.0.0.1.example"])("checks whom it talks to on %s", (server) => {
    expect(connection({ server }).ssl).toEqual({ rejectUnauthorized: true });
  });

  it("leaves TLS to the URL where that says something and the settings do not", () => {
    const url = "postgres://db.example/app?sslmode=require";
    expect(connection({ url }).ssl).toEqual({});
    expect(connection({ url, tls: "verify-full" }).ssl).toEqual({ rejectUnauthorized: true });
  });

  it.each([
    "?sslmode=",
    "?sslmode=require&sslmode=disable",
    "?sslmode=verify-full&sslmode=",
    "?sslmode=disable",
    "?ssl=false",
    "?ssl=0",
    "?sslmode=verify-full&ssl=false",
  ])("never goes unencrypted to another machine, however the URL hides it: %s", (query) => {
    const url = `postgres://me@db.example/app${query}`;
    const ssl = (): unknown => new pg.Client(connection({ url })).ssl;
    expect([refusalOf(ssl), refusalOf(ssl) === "" ? ssl() : "refused"]).not.toContain(false);
  });

  it("does not let a second host in the URL slip past the check of the first", () => {
    const url = "postgres://me@localhost/app?host=127.0.0.1&host=db.example";
    expect(refusalOf(() => connection({ url }))).not.toBe("");
  });

  it("trusts the authority in a file, which must be readable", () => {
    const tlsCa = join(directory, "ca.pem");
    expect(() => connection({ server: "db.example", tlsCa })).toThrow(`store.tls_ca ("${tlsCa}") cannot be read.`);
    writeFileSync(tlsCa, "an authority");
    expect(connection({ server: "db.example", tlsCa }).ssl).toEqual({ ca: "an authority", rejectUnauthorized: true });
  });
});
