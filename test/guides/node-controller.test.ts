import { expect, it } from "vitest";
import { runHere } from "../support/command.js";
import { blocksOf, Guide, patience, readerSettings, servesAsLeader } from "../support/guide.js";
import { createTestDatabase } from "../support/postgres.js";
import { isMissing } from "../support/programs.js";
import { complaintsOf } from "../support/systemd-unit.js";

const block = blocksOf("node-controller");

it("the agent works beside a standby, and is off beside the leader", patience, async () => {
  await using database = await createTestDatabase();
  const [env, other] = [await readerSettings(database.url), await readerSettings(database.url)];
  await using leaders = await Guide.open("node-controller", { ...other, HOLDFAST_CLUSTER_ENABLED: "true" });
  const leader = leaders.project.command(["holdfast", "controller"]);
  await servesAsLeader(leader);

  const direct = ["token", "create", "--direct", "--role", "operator", "--name", "ops"];
  const token = (await runHere(direct, { env: { HOLDFAST_STORE_URL: database.url } })).stdout.trim();

  await using guide = await Guide.open("node-controller", env);
  await guide.writeShown("holdfast.toml");
  await guide.write("ops/greet.js", 'export default ({ name }) => "hello " + name;\n');
  const supervised = await guide.start("supervise");
  await supervised.line(/"msg":"the agent starts"/);

  const submit = ["jobs", "submit", "greet", "--payload", '{"name":"ann"}', "--wait", "--url", other.HOLDFAST_URL];
  const done = await runHere(submit, { env: { HOLDFAST_TOKEN: token } });
  expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining("hello ann") as string });
  const listed = await runHere(["jobs", "list", "--json", "--url", other.HOLDFAST_URL], {
    env: { HOLDFAST_TOKEN: token },
  });
  expect(listed.stdout).toContain('"east-1-worker"');

  await leader.end("SIGTERM");
  await supervised.line(/"msg":"the agent stops: the controller is LEADER/);
});

it.skipIf(isMissing("systemd-analyze"))(
  "what it shows for systemd is a unit that systemd takes",
  patience,
  async () => {
    const unit = block("supervise.service").text;
    expect(unit).toContain("KillMode=mixed");
    expect(await complaintsOf(unit)).toBe("");
    expect(await complaintsOf(unit.replace("mixed", "mixt"))).toContain("mixt");
  },
);
