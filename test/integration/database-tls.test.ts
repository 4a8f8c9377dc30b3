import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { expect, test } from "vitest";
import { clusterNode } from "../support/election.js";
import { startLocalNode } from "../support/local-node.js";
import { startTestServer, type TestServer, withClient } from "../support/postgres.js";
import { startTcpProxy } from "../support/tcp-proxy.js";

const certificate = fileURLToPath(new URL("../support/tls/localhost.crt", import.meta.url));
const key = fileURLToPath(new URL("../support/tls/localhost.key", import.meta.url));

/** A server that takes no connection without TLS. Its files are written by itself, so that they are its own. */
async function startTlsServer(): Promise<TestServer> {
  const server = await startTestServer();
  await withClient(server.url, async (client) => {
    for (const [source, name] of [
      [certificate, "server.crt"],
      [key, "server.key"],
    ] as const) {
      const lines = (await readFile(source, "utf8")).trimEnd().split("\n");
      const rows = lines.map((line) => `(${client.escapeLiteral(line)})`).join(", ");
      await client.query(`COPY (VALUES ${rows}) TO PROGRAM 'umask 077; cat > ${name}'`);
    }
    await client.query("COPY (VALUES ('hostssl all all all scram-sha-256')) TO PROGRAM 'cat > pg_hba.conf'");
  });
  await server.stop("fast");
  await server.start({
    ssl: "on",
    ssl_cert_file: "server.crt",
    ssl_key_file: "server.key",
  });
  return server;
}

test("a node talks TLS with its database in every session, and checks whom it talks to", async () => {
  await using server = await startTlsServer();
  const settings = (id: string, store: object) => clusterNode(withHost(server.url, "localhost"), id, {}, store);
  await expect(startLocalNode(settings("plain", {}))).rejects.toMatchObject({ code: "DATABASE_REFUSED" });
  await expect(startLocalNode(settings("unknown-authority", { tls: "verify-full" }))).rejects.toMatchObject({
    code: "DATABASE_REFUSED",
    message: expect.stringContaining("store.tls_ca"),
  });
  const trusting = { tls: "verify-full", tlsCa: certificate } as const;
  // Another address of this very machine, for which the certificate was not made.
  await using elsewhere = await startTcpProxy({ host: "127.0.0.1", port: server.port }, "127.0.0.2");
  const url = withHost(elsewhere.through(server.url), "127.0.0.2");
  const wrongName = clusterNode(url, "wrong-name", {}, trusting);
  await expect(startLocalNode(wrongName)).rejects.toMatchObject({
    code: "DATABASE_REFUSED",
    message: expect.stringContaining("for another name"),
  });

  await using node = await startLocalNode(settings("checked", trusting));
  await node.leads();
  await using _other = await startLocalNode(settings("encrypted", { tls: "require" }));
  const client = new Client({
    connectionString: withHost(server.url, "localhost"),
    ssl: { ca: await readFile(certificate) },
  });
  await client.connect();
  try {
    const { rows } = await client.query<{ purpose: string; ssl: boolean }>(
      `SELECT split_part(application_name, ' ', 2) AS purpose, bool_and(ssl) AS ssl
       FROM pg_stat_activity JOIN pg_stat_ssl USING (pid) WHERE application_name LIKE 'holdfast %' GROUP BY 1 ORDER BY 1`,
    );
    expect(rows.map(({ ssl }) => ssl)).not.toContain(false);
    expect(rows.map(({ purpose }) => purpose)).toEqual(expect.arrayContaining(["lock", "pool", "witness"]));
  } finally {
    await client.end();
  }
});

function withHost(url: string, host: string): string {
  const named = new URL(url);
  named.hostname = host;
  return named.href;
}
