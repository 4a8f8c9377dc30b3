import { expect, it } from "vitest";
import { nodeEnvironment } from "./node-environment.js";

const user = {
  PATH: "/bin",
  HOME: "/home/me",
  HOLDFAST_STORE_URL: "postgres://mine",
  HOLDFAST_TOKEN: "secret",
  PGPASSWORD: "mine",
  PGOPTIONS: "-c x=y",
  GONE: undefined,
};
const node = { id: "node-2", port: 7401 };

it("gives a node the user's environment, and no setting but the demo's", () => {
  const env = nodeEnvironment(user, node, { url: "postgres://demo", embedded: true });
  expect(env).toMatchObject({
    PATH: "/bin",
    HOME: "/home/me",
    HOLDFAST_STORE_URL: "postgres://demo",
    HOLDFAST_STORE_SCHEMA: "holdfast_demo",
    HOLDFAST_CLUSTER_ENABLED: "true",
    HOLDFAST_CLUSTER_NODE_ID: "node-2",
    HOLDFAST_API_PORT: "7401",
    HOLDFAST_API_PUBLIC_URL: "http://127.0.0.1:7401",
  });
  for (const name of ["HOLDFAST_TOKEN", "PGPASSWORD", "PGOPTIONS", "GONE"]) expect(env).not.toHaveProperty(name);
});

it("leaves PostgreSQL's own variables where the server is the user's", () => {
  const env = nodeEnvironment(user, node, { url: "postgres://theirs", embedded: false });
  expect(env).toMatchObject({ PGPASSWORD: "mine", PGOPTIONS: "-c x=y", HOLDFAST_STORE_URL: "postgres://theirs" });
});
