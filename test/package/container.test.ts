import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { runCommand } from "../support/command.js";
import { repositoryRoot } from "../support/demo-process.js";
import { createTestDatabase } from "../support/postgres.js";
import { ServeProcess } from "../support/serve-process.js";

interface Service {
  readonly environment?: Readonly<Record<string, string>>;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly command?: readonly string[];
  readonly ports?: readonly string[];
}

const dockerfile = readFileSync(join(repositoryRoot, "deploy/Dockerfile"), "utf8").replaceAll("\\\n", " ");
const { services } = parse(readFileSync(join(repositoryRoot, "deploy/compose.yaml"), "utf8"), { merge: true }) as {
  readonly services: Readonly<Record<string, Service>>;
};
const nodes = Object.entries(services).filter(([name]) => name.startsWith("node-"));

/** What the image sets by itself. */
const imageEnvironment = Object.fromEntries(
  [...dockerfile.matchAll(/(HOLDFAST_\w+)=(\S+)/g)].map(([, k, v]) => [k, v]),
);

test("the image is built of files that there are, and runs as a user of its own what the package names as its program", () => {
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, from = ""]) => from.split(" "));
  expect(copied.filter((path) => !existsSync(join(repositoryRoot, path)))).toEqual([]);
  expect(copied).toEqual(expect.arrayContaining(["src", "migrations", "dashboard", "scripts"]));
  const { bin } = JSON.parse(readFileSync(join(repositoryRoot, "package.json"), "utf8")) as {
    bin: { holdfast: string };
  };
  expect(dockerfile).toContain(`ENTRYPOINT ["node", "${join("/app", bin.holdfast)}"]`);
  // A number, and not that of root: Kubernetes does not look names up.
  expect(dockerfile).toMatch(/^USER [1-9]\d*$/m);
  expect(dockerfile).toMatch(/^STOPSIGNAL SIGTERM$/m);
});

test("three nodes are built by that file, each with a name and an address of its own", () => {
  expect(nodes).toHaveLength(3);
  for (const [, { build }] of nodes) {
    expect(existsSync(join(repositoryRoot, "deploy", build?.context ?? "nowhere", build?.dockerfile ?? ""))).toBe(true);
  }
  for (const setting of ["HOLDFAST_CLUSTER_NODE_ID", "HOLDFAST_API_PUBLIC_URL"]) {
    expect(new Set(nodes.map(([, { environment }]) => environment?.[setting])).size).toBe(3);
  }
});

test("setup prepares the database, and a node then serves with what the image and the file set, healthy as it is asked", async () => {
  await using database = await createTestDatabase({ template: "template0" });
  const env = { ...imageEnvironment, ...services["setup"]?.environment, HOLDFAST_STORE_URL: database.url };
  const setup = services["setup"]?.command?.at(-1) ?? "";
  for (const command of setup.split(" && ")) {
    const words = command.replace("$$(date +%s)", "1").split(" ");
    expect(words.shift()).toBe("holdfast");
    expect(await runCommand(words, { env })).toMatchObject({ code: 0 });
  }
  const [[, node] = ["", undefined]] = nodes;
  const { HOLDFAST_API_PORT: _port, ...settings } = { ...imageEnvironment, ...node?.environment };
  await using served = await ServeProcess.start({ env: { ...settings, HOLDFAST_STORE_URL: database.url } });
  const [, path] = dockerfile.match(/HEALTHCHECK.*\}(\/\w+)`/) ?? [];
  expect((await served.get(path ?? "")).status).toBe(200);
});
