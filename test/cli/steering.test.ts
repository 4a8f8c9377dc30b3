import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { tokenHints } from "../../dashboard/src/layout/token-hints.js";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { type CommandResult, runCommand, runHere } from "../support/command.js";
import { createTestDatabase, type TestDatabase, withClient } from "../support/postgres.js";
import { ServeCluster } from "../support/serve-cluster.js";
import { patientCluster } from "../support/serve-process.js";

describe("commands that steer", () => {
  let database: TestDatabase;
  let cluster: ServeCluster;
  let folder = "";

  beforeAll(async () => {
    database = await createTestDatabase();
    cluster = await ServeCluster.start(database.url, 2, patientCluster);
    folder = await mkdtemp(join(tmpdir(), "holdfast-cli-"));
  });

  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await database?.drop();
    await rm(folder, { recursive: true, force: true });
  });

  const surroundings = (env: Readonly<Record<string, string>> = {}) => ({
    cwd: folder,
    env: { HOLDFAST_URL: cluster.node("node-2").url, HOLDFAST_STORE_URL: database.url, ...env },
  });

  const holdfast = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<CommandResult> =>
    runHere(args, surroundings(env));

  const leader = async (): Promise<string | null> =>
    (await cluster.node("node-2").read<{ readonly leader_id: string | null }>("/role")).leader_id;

  it("leader step-down hands over to the node that is named", async () => {
    const stepDown = ["leader", "step-down", "scheduler", "--to", "node-2"];
    const { code, stdout, stderr } = await runCommand(stepDown, surroundings());
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toBe("node-1 handed scheduler over; node-2 leads it, epoch 2.\n");
    const refused = await holdfast(["leader", "step-down", "scheduler", "--to", "nobody"]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/^holdfast: .*"nobody".*\[REFUSED\]\n$/);
  });

  it("node drain waits until the node has given up its roles, and node resume takes it back", async () => {
    await cluster.agree("node-2");
    const drained = await holdfast(["node", "drain", "node-2", "--json"]);
    expect(drained).toMatchObject({ code: 0, stderr: "" });
    expect((JSON.parse(drained.stdout) as { readonly acted_at: number | null }).acted_at).not.toBeNull();
    expect(await cluster.node("node-2").read("/role")).toMatchObject({ role: "DRAINING" });
    expect(await waitUntil(async () => (await leader()) === "node-1", 10_000)).toBe(true);
    const resumed = await holdfast(["node", "resume", "node-2"]);
    expect(resumed).toMatchObject({ code: 0, stdout: "node-2 is active again.\n" });
    expect(await cluster.node("node-2").read("/role")).toMatchObject({ role: "STANDBY" });
  });

  it("node drain of a node that nobody knows exits with 2", async () => {
    const { code, stderr } = await holdfast(["node", "drain", "nobody", "--no-wait"]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/\[UNKNOWN_NODE\]\n$/);
  });

  it("a drill is refused from another host, and where it would be an outage", async () => {
    await withClient(database.url, (client) =>
      client.query("UPDATE holdfast.nodes SET hostname = 'elsewhere.example' WHERE node_id = 'node-1'"),
    );
    const elsewhere = await holdfast(["drill", "crash", "--role", "scheduler", "--yes"]);
    expect(elsewhere.code).toBe(1);
    expect(elsewhere.stderr).toContain(
      `Node "node-1" runs on elsewhere.example, and this is ${hostname()}: run the drill on elsewhere.example.`,
    );
    await withClient(database.url, (client) =>
      client.query("UPDATE holdfast.nodes SET hostname = $1 WHERE node_id = 'node-1'", [hostname()]),
    );
    await holdfast(["node", "drain", "node-2"]);
    const alone = await holdfast(["drill", "crash", "--role", "scheduler", "--yes"]);
    await holdfast(["node", "resume", "node-2"]);
    expect(alone.code).toBe(1);
    expect(alone.stderr).toContain("the drill would be an outage");
    expect((await cluster.node("node-1").get("/health")).status).toBe(200);
  });

  it("a drill without a terminal wants --yes", async () => {
    const { code, stderr } = await holdfast(["drill", "clean", "--role", "scheduler"]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/This makes node-1 hand "scheduler" over\..*add --yes\. \[USAGE\]\n$/);
  });

  it("leader advance-epoch raises the epoch in the database, once it is meant", async () => {
    const unsure = await holdfast(["leader", "advance-epoch", "scheduler", "--to", "1000"]);
    expect(unsure).toMatchObject({ code: 2, stdout: "" });
    const { code, stdout } = await holdfast([
      "leader",
      "advance-epoch",
      "scheduler",
      "--to",
      "1000",
      "--yes",
      "--json",
    ]);
    expect(code).toBe(0);
    const { epoch } = JSON.parse(stdout) as { readonly epoch: number };
    expect(epoch).toBeGreaterThanOrEqual(1000);
    const wrong = await holdfast(["leader", "advance-epoch", "scheduler", "--to", "many", "--yes"]);
    expect(wrong).toMatchObject({ code: 2, stdout: "" });
  });

  it("the first token is made straight in the database, and from then on the nodes want one", async () => {
    const created = await holdfast(["token", "create", "--name", "ada", "--role", "admin", "--direct"]);
    expect(created.code).toBe(0);
    expect(created.stdout).toMatch(/^hf_\S+\n$/);
    expect(created.stderr).toMatch(
      /^holdfast: this is about database .*\nToken \S+ of "ada" \(admin\) never expires\./,
    );
    const admin = created.stdout.trim();

    const refused = async (): Promise<boolean> => (await holdfast(["cluster", "nodes"])).code === 1;
    expect(await waitUntil(refused, 10_000)).toBe(true);
    const anonymous = await holdfast(["cluster", "nodes"]);
    expect(anonymous.stderr).toBe(
      "holdfast: This takes a token: set HOLDFAST_TOKEN, or name a file with --token-file. [UNAUTHORIZED]\n",
    );
    const tokenFile = join(folder, "token");
    await writeFile(tokenFile, `${admin}\n`);
    expect((await holdfast(["cluster", "nodes", "--token-file", tokenFile])).code).toBe(0);

    const viewer = await holdfast(["token", "create", "--name", "eve", "--role", "viewer", "--expires", "30d"], {
      HOLDFAST_TOKEN: admin,
    });
    expect(viewer.code).toBe(0);
    expect(viewer.stderr).toMatch(/"eve" \(viewer\) expires \d{4}-/);
    const forbidden = await holdfast(["node", "drain", "node-2"], { HOLDFAST_TOKEN: viewer.stdout.trim() });
    expect(forbidden.code).toBe(1);
    expect(forbidden.stderr).toMatch(/\[FORBIDDEN\]\n$/);

    const listed = await holdfast(["token", "list", "--json"], { HOLDFAST_TOKEN: admin });
    const { items } = JSON.parse(listed.stdout) as { readonly items: readonly { id: string; name: string }[] };
    expect(items.map(({ name }) => name)).toEqual(["eve", "ada"]);
    expect(listed.stdout).not.toContain("hf_");
    const eve = items[0]?.id ?? "";
    expect(await holdfast(["token", "revoke", eve], { HOLDFAST_TOKEN: admin })).toMatchObject({
      code: 0,
      stdout: `Token ${eve} of "eve" is revoked.\n`,
    });
    const direct = await holdfast(["token", "list", "--direct"]);
    expect(direct.stdout).toMatch(/ eve +viewer +- +revoked /);

    // What the dashboard says to whoever has no token works as it stands there.
    const hinted = (hint: string, name: string, env = {}): Promise<CommandResult> =>
      holdfast(
        hint
          .replace(/^holdfast /, "")
          .replace("NAME", name)
          .split(" "),
        env,
      );
    const byAdmin = await hinted(tokenHints.throughNode, "bob", { HOLDFAST_TOKEN: admin });
    const byDatabase = await hinted(tokenHints.direct, "cleo", { HOLDFAST_URL: "http://127.0.0.1:9" });
    for (const made of [byAdmin, byDatabase])
      expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^hf_\S+\n$/) });
  });
});
