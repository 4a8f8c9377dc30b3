import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { clearAway, processesIn } from "../support/demo-process.js";
import { makeTestDirectory } from "../support/postgres.js";

const owner = fileURLToPath(new URL("../support/child-owner.mjs", import.meta.url));

/** A program that runs as the child of a supervisor, which a test can kill. */
async function supervisedProgram(text: string, graceMs: number) {
  const directory = await makeTestDirectory();
  const script = join(directory, "program.mjs");
  await writeFile(script, text);
  const supervisor = spawn(process.execPath, [owner, script, String(graceMs)], {
    cwd: directory,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  supervisor.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    output += chunk;
  });
  const said = async (word: string): Promise<void> =>
    await expect.poll(() => output, { timeout: 20_000 }).toContain(word);
  await said("ready");
  return {
    said,
    directory,
    processes: () => processesIn(directory),
    async loseSupervisor() {
      supervisor.kill("SIGKILL");
      await once(supervisor, "exit");
    },
    async [Symbol.asyncDispose]() {
      supervisor.kill("SIGKILL");
      await clearAway(directory);
    },
  };
}

/** Whether nothing of it is left after a while. */
const ends = async (program: { processes: () => readonly object[] }): Promise<boolean> =>
  await waitUntil(() => Promise.resolve(program.processes().length === 0), 20_000);

describe("a child whose supervisor was killed", () => {
  it("hears it as SIGTERM, and stops in its own way", async () => {
    await using program = await supervisedProgram(
      `import { writeFileSync } from "node:fs";
       process.on("SIGTERM", () => { writeFileSync("stopped-in-order", ""); process.exit(0); });
       setInterval(() => undefined, 1000);
       console.log("ready");`,
      60_000,
    );
    await program.loseSupervisor();
    expect(await ends(program)).toBe(true);
    expect(existsSync(join(program.directory, "stopped-in-order"))).toBe(true);
  });

  it("is killed when its grace is over, where it does not listen", async () => {
    await using program = await supervisedProgram(
      `process.on("SIGTERM", () => undefined);
       setInterval(() => undefined, 1000);
       console.log("ready");`,
      200,
    );
    await program.loseSupervisor();
    expect(await ends(program)).toBe(true);
  });

  it("is killed also where its main loop is stuck for good", async () => {
    await using program = await supervisedProgram(
      `import { writeSync } from "node:fs";
       process.on("SIGTERM", () => undefined);
       writeSync(1, "ready\\n");
       for (;;);`,
      200,
    );
    await program.loseSupervisor();
    expect(await ends(program)).toBe(true);
  });
});

describe("a child whose supervisor lives", () => {
  it("runs threads and processes of its own, which are not taken for children of the supervisor", async () => {
    await using program = await supervisedProgram(
      `import { fork } from "node:child_process";
       import { Worker } from "node:worker_threads";
       if (process.argv[2] === "forked") {
         process.on("disconnect", () => console.log("forked lives on"));
         process.send("up");
         setInterval(() => undefined, 1000);
       } else {
         const forked = fork(process.argv[1], ["forked"]);
         forked.once("message", () => forked.disconnect());
         new Worker("console.log('thread ran')", { eval: true });
         process.on("SIGTERM", () => { forked.kill("SIGKILL"); process.exit(0); });
         setInterval(() => undefined, 1000);
         console.log("ready");
       }`,
      60_000,
    );
    await program.said("thread ran");
    await program.said("forked lives on");
    expect(program.processes()).toHaveLength(3);
    await program.loseSupervisor();
    expect(await ends(program)).toBe(true);
  });

  it("ends by itself when it has nothing left to do", async () => {
    await using program = await supervisedProgram('console.log("ready");', 60_000);
    // And the supervisor of this test, which waits for nothing else, with it.
    expect(await ends(program)).toBe(true);
  });
});
