import { expect, it } from "vitest";
import { blocksOf, Guide, patience } from "../support/guide.js";
import { startTestServer, withClient } from "../support/postgres.js";

const block = blocksOf("database-roles");

it("three roles are made, and each may do what the guide says and no more", patience, async () => {
  await using server = await startTestServer();
  await withClient(server.url, (client) => client.query("CREATE DATABASE app"));
  const urlOf = (role: string): string => {
    const url = new URL(server.url);
    [url.username, url.password, url.pathname] = [role, "...", "app"];
    return url.href;
  };
  const administrator = new URL(server.url);
  administrator.pathname = "app";
  await withClient(administrator.href, (client) => client.query(block("roles").text));
  await using guide = await Guide.open("database-roles", {
    DATABASE_HOST: administrator.host,
    HOLDFAST_STORE_PASSWORD: "...",
  });
  await guide.run("migrate");
  // At every deployment: a second time changes nothing.
  await guide.run("migrate");

  const as = async (role: string, statement: string): Promise<unknown> =>
    await withClient(urlOf(role), (client) => client.query(statement));
  await expect(as("holdfast_node", "select from holdfast.leases")).resolves.toBeDefined();
  await expect(as("holdfast_node", "create table holdfast.mine ()")).rejects.toThrow(/permission denied/);
  await expect(as("holdfast_node", "delete from holdfast.leases")).rejects.toThrow(/permission denied/);
  for (const seen of ["leaders", "members", "history", "migrations"]) {
    await expect(as("holdfast_reader", `select from holdfast.${seen}`)).resolves.toBeDefined();
  }
  await expect(as("holdfast_reader", "select from holdfast.tokens")).rejects.toThrow(/permission denied/);
  await expect(as("holdfast_reader", "delete from holdfast.history")).rejects.toThrow(/permission denied/);

  const node = guide.project.command(["holdfast", "serve"], {
    env: { HOLDFAST_STORE_URL: urlOf("holdfast_node"), HOLDFAST_STORE_MIGRATE: "check", HOLDFAST_API_PORT: "0" },
  });
  await node.line(/"role":"scheduler".*"msg":"elected"/);
});
