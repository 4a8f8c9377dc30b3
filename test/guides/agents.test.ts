import { expect, it } from "vitest";
import { runHere } from "../support/command.js";
import { Guide, patience, readerSettings, servesAsLeader } from "../support/guide.js";
import { createTestDatabase } from "../support/postgres.js";

const payments = `
export const payments = { charge: async (customer, cents, { idempotencyKey }) => ({ customer, cents, idempotencyKey }) };
`;

it("agents work with a token of their own name, from a folder and as a library", patience, async () => {
  await using database = await createTestDatabase();
  const env = await readerSettings(database.url);
  const url = env.HOLDFAST_URL;
  await using guide = await Guide.open("agents", env);
  await servesAsLeader(guide.project.command(["holdfast", "serve"]));
  const tokenOf = async (role: string, name: string): Promise<string> => {
    const words = ["token", "create", "--direct", "--role", role, "--name", name];
    const { code, stdout } = await runHere(words, { env: { HOLDFAST_STORE_URL: database.url } });
    expect(code).toBe(0);
    return stdout.trim();
  };
  const token = await tokenOf("operator", "ops");
  const submit = async (op: string, payload: object) =>
    await runHere(["jobs", "submit", op, "--payload", JSON.stringify(payload), "--wait", "--url", url], {
      env: { HOLDFAST_TOKEN: token },
    });

  await guide.writeShown("ops/resize.js");
  const agent = await guide.start("agent");
  // The picture is whatever can be fetched.
  const resized = await submit("resize", { image: `${url}/health` });
  expect(resized).toMatchObject({ code: 0, stdout: expect.stringContaining('"bytes":15') as string });
  agent.signal("SIGTERM");
  await agent.line(/"msg":"stopped"/);

  const secret = await tokenOf("agent", "worker-2");
  await using library = await Guide.open("agents", { ...env, HOLDFAST_TOKEN: secret });
  await library.writeShown("ops/resize.js");
  await library.write("payments.mjs", payments);
  const program = await library.start("library");
  expect((await submit("charge", { customer: "ann", cents: 5 })).stdout).toContain('"cents":5');
  expect(await submit("charge", { customer: "ann", cents: 0 })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("nothing to charge") as string,
  });
  expect((await submit("resize", { image: `${url}/health` })).code).toBe(0);
  expect((await program.end("SIGTERM")).code).toBe(0);
});
