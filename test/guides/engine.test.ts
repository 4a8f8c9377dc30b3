import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { BulkReceiver } from "../support/bulk-receiver.js";
import { runHere } from "../support/command.js";
import { repositoryRoot } from "../support/demo-process.js";
import { freePort } from "../support/free-ports.js";
import { blocksOf, Guide, patience, readerSettings } from "../support/guide.js";
import { createTestDatabase } from "../support/postgres.js";
import { administratorEnv, isMissing } from "../support/programs.js";

const block = blocksOf("engine");

/** As the table of the guide has them. */
const folder = ["config/adt.ts", "config/lab.ts", "config/wards.csv", "config/rules/adt.ts"];

it(
  "a message goes through the graph, is found, is read by whoever may, and the graph is reloaded",
  patience,
  async () => {
    await using database = await createTestDatabase();
    await using lab = await BulkReceiver.listen();
    const env = { ...(await readerSettings(database.url)), LAB_PORT: String(lab.port) };
    await using guide = await Guide.open("engine", { ...env, ADT_PORT: String(await freePort()) });
    for (const name of folder) await guide.write(name, blocksOf("engine-config")(name).text);
    await guide.writeShown("test.hl7");
    await (await guide.start("serve")).line(/the graph runs here/);

    const sent = await guide.run("send");
    expect(sent.stdout).toMatch(/^adt-in .*running/m);
    await expect.poll(() => lab.messages.length).toBe(1);
    expect(lab.messages[0]?.toString()).toMatch(/^MSH\|\^~\\&\|HIS\|HOSPITAL\|LAB\|/);

    await expect.poll(async () => (await guide.run("find")).stdout, { timeout: 60_000 }).toMatch(/ +sent +lab /);
    const found = (await guide.run("find")).stdout;
    expect(found).toMatch(/^There is no such message\.$/m);
    expect(found).toMatch(/^ *1 +.* adt-in +ADT\^A01 +4711 +processed, sent /m);

    const reloaded = (await guide.run("reload")).stdout;
    expect(reloaded).toMatch(/^The folder is as before, and runs as version 1\.$/m);
    expect(reloaded).toMatch(/^The shared version is 1\.$/m);
    const body = (await guide.run("body")).stdout;
    expect(body).toMatch(/\|HIS\|HOSPITAL\|ENGINE\|/);
    expect(body).toMatch(/\|HIS\|HOSPITAL\|LAB\|/);
    const written = await readFile(join(guide.project.directory, "1.hl7"), "utf8");
    expect(written.replaceAll("\r", "\n").trim()).toBe(block("test.hl7").text.trim());
  },
);

it("the settings of a cluster are ones that a node takes", patience, async () => {
  await using guide = await Guide.open("engine");
  await guide.writeShown("holdfast.toml");
  const tls = (end: string): string => join(repositoryRoot, "test/support/tls", `localhost.${end}`);
  const checked = await runHere(["config", "check", "--service-config", "holdfast.toml"], {
    cwd: guide.project.directory,
    env: { HOLDFAST_API_TLS_CERT: tls("crt"), HOLDFAST_API_TLS_KEY: tls("key"), HOLDFAST_STORE_PASSWORD: "secret" },
  });
  expect(checked).toMatchObject({ code: 0, stderr: "" });
});

it.skipIf(isMissing("haproxy"))("what it shows of HAProxy is sound", patience, async () => {
  await using guide = await Guide.open("engine");
  await guide.writeShown("haproxy-adt.cfg");
  const options = { cwd: guide.project.directory, env: administratorEnv, encoding: "utf8", stdio: "pipe" } as const;
  expect(execFileSync("haproxy", ["-c", "-f", "haproxy-adt.cfg"], options)).toContain("Configuration file is valid");
});
