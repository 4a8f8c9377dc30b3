import { describe, expect, it } from "vitest";
import { run } from "../../src/cli/run.js";
import { FakeCommandLine, type FakeOptions } from "../support/fake-command-line.js";

async function holdfast(args: readonly string[], options: FakeOptions = {}) {
  const cli = new FakeCommandLine(options);
  const code = await run(args, cli);
  return { code, stdout: cli.written, stderr: cli.complained };
}

describe("a command that is called wrongly", () => {
  it.each([
    [["clutser"], 'unknown command "clutser". Did you mean cluster?'],
    [["cluster", "nodse"], 'unknown command "nodse". Did you mean nodes?'],
    [["cluster", "nodes", "--jsn"], 'unknown option "--jsn". Did you mean --json?'],
    [["foo"], 'unknown command "foo". See "holdfast --help".'],
    [["help", "foo"], 'unknown command "foo". See "holdfast --help".'],
    [["help", "cluster", "foo"], 'unknown command "foo". See "holdfast cluster --help".'],
    [["help", "serve", "foo"], 'unknown command "foo". See "holdfast serve --help".'],
    [["cluster", "nodes", "--foo"], 'unknown option "--foo". See "holdfast cluster nodes --help".'],
    [["node", "show"], 'missing required argument "id". See "holdfast node show --help".'],
    [["drill", "crash"], 'required option "--role <role>" not specified. See "holdfast drill crash --help".'],
    [
      ["node", "drain", "a", "--timeout", "soon"],
      'option "--timeout <duration>" argument "soon" is invalid. It must be a duration like "500ms", "5s" or "1m".',
    ],
    [
      ["cluster", "history", "--limit", "0"],
      'option "--limit <number>" argument "0" is invalid. It must be a whole number above 0.',
    ],
    [
      ["leader", "advance-epoch", "scheduler", "--to", "-1"],
      'option "--to <epoch>" argument "-1" is invalid. It must be a whole number from 1 to 9007199254740991.',
    ],
    [
      ["token", "create", "--name", "x", "--role", "king"],
      'option "--role <role>" argument "king" is invalid. Allowed choices are viewer, operator, admin, agent.',
    ],
    [
      ["token", "create", "--name", "x", "--role", "viewer", "--grant", "everything"],
      'option "--grant <permission>" argument "everything" is invalid. It must be messages:read or audit:read.',
    ],
    [["cluster", "nodes", "--url", "nowhere"], "--url must be an address like http://127.0.0.1:7400."],
    [
      ["cluster", "nodes", "--url", "http://me:secret@127.0.0.1:7400"],
      "The address of a node carries no credentials: use HOLDFAST_TOKEN or --token-file.",
    ],
    [["cluster", "nodes", "--token-file", "missing"], "The token file /nowhere/missing cannot be read (ENOENT)."],
  ])("%j says so in one line, and exits with 2", async (args, said) => {
    expect(await holdfast(args, { cwd: "/nowhere" })).toEqual({
      code: 2,
      stdout: "",
      stderr: `holdfast: ${said} [USAGE]\n`,
    });
  });

  it.each([
    [["--name", "anyone"], 'name must be another than "anyone"'],
    [["--name", "a b "], "name must be 1 to 100 printable characters"],
    [["--name", "ada", "--expires", "4000d"], "lifetime must be from 1 s to ten years"],
  ])("a token that may not be made, %j, is refused before anybody is asked", async (args, said) => {
    for (const way of [[], ["--direct"]]) {
      const { code, stdout, stderr } = await holdfast(["token", "create", "--role", "viewer", ...args, ...way]);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toMatch(/^holdfast: The token's .*\[INVALID_REQUEST\]\n$/);
      expect(stderr).toContain(said);
    }
  });

  it.each([[["cluster"]], [["token"]], [[]]])(
    "%j without a subcommand shows what there is, and exits with 2",
    async (args) => {
      const { code, stdout, stderr } = await holdfast(args);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain("Commands:");
    },
  );

  it("--help and --version are no errors", async () => {
    expect(await holdfast(["--version"])).toMatchObject({ code: 0, stderr: "" });
    const help = await holdfast(["drill", "stall", "--help"]);
    expect(help).toMatchObject({ code: 0, stderr: "" });
    expect(help.stdout).toContain("--force");
  });

  it.each([
    [[], []],
    [["cluster"], []],
    [["cluster"], ["nodes"]],
    [[], ["drill", "stall"]],
  ])("%j help %j prints what --help does", async (before, after) => {
    const help = await holdfast([...before, "help", ...after]);
    expect(help).toEqual(await holdfast([...before, ...after, "--help"]));
    expect(help.code).toBe(0);
  });

  it("a token is taken from no option", async () => {
    const { code, stderr } = await holdfast(["cluster", "nodes", "--token", "hf_secret"]);
    expect(code).toBe(2);
    expect(stderr).not.toContain("hf_secret");
  });
});

describe("config check", () => {
  it("shows every setting, where it comes from, and no secret", async () => {
    const env = { HOLDFAST_STORE_URL: "postgres://me:hunter2@localhost/app", HOLDFAST_CLUSTER_NAME: "mine" };
    const { code, stdout } = await holdfast(["config", "check"], { env, cwd: "/nowhere" });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^cluster\.name +"mine" +environment$/m);
    expect(stdout).toMatch(/^store\.url +\(secret\) +environment$/m);
    expect(stdout).not.toContain("hunter2");
    const json = await holdfast(["config", "check", "--json"], { env, cwd: "/nowhere" });
    const { settings } = JSON.parse(json.stdout) as { readonly settings: readonly unknown[] };
    expect(settings).toContainEqual({ key: "cluster.name", value: "mine", source: "environment" });
    expect(settings).toContainEqual({ key: "api.port", value: 7400, source: "default" });
    expect(settings).toContainEqual({ key: "store.url", value: "(secret)", source: "environment" });
    expect(settings).toContainEqual({ key: "store.password", value: null, source: "default" });
  });

  it.each([
    ["postgres://me@localhost/app", "postgres", "disable", "derived"],
    ["postgres://me@db.example/app", "postgres", "verify-full", "default"],
    ["postgres://me@db.example/app?sslmode=no-verify", "postgres", "require", "derived"],
  ])("shows of %s what a node would make of it", async (url, backend, tls, source) => {
    const { stdout } = await holdfast(["config", "check"], { env: { HOLDFAST_STORE_URL: url }, cwd: "/nowhere" });
    expect(stdout).toMatch(new RegExp(`^store\\.backend +"${backend}" +derived$`, "m"));
    expect(stdout).toMatch(new RegExp(`^store\\.tls +"${tls}" +${source}$`, "m"));
  });

  it("exits with 2 and a line for each thing that is wrong", async () => {
    const env = { HOLDFAST_API_HOST: "0.0.0.0" };
    const serving = await holdfast(["config", "check"], { env, cwd: "/nowhere" });
    expect(serving).toMatchObject({ code: 2, stdout: "" });
    expect(serving.stderr).toMatch(/^holdfast: api\.host .*\[BAD_SETTINGS\]\n$/);
    const file = await holdfast(["config", "check", "--service-config", "none.toml"], { cwd: "/nowhere" });
    expect(file.stderr).toBe("holdfast: /nowhere/none.toml: there is no such file. [BAD_SETTINGS]\n");
  });
});

describe("a question", () => {
  const advance = ["leader", "advance-epoch", "scheduler", "--to", "9"];

  it("is asked on a terminal, and anything but yes does nothing", async () => {
    const { code, stderr } = await holdfast(advance, { isTTY: true, answer: "n", cwd: "/nowhere" });
    expect(code).toBe(1);
    expect(stderr).toMatch(/Go on\? \[y\/N\] holdfast: Nothing was done\. \[REFUSED\]\n$/);
  });

  it("cannot be asked elsewhere, so --yes has to answer it", async () => {
    const { code, stderr } = await holdfast(advance, { cwd: "/nowhere" });
    expect(code).toBe(2);
    expect(stderr).toMatch(/add --yes\. \[USAGE\]\n$/);
  });
});
