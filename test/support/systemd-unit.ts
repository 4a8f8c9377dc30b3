import { spawnSync } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeTestDirectory } from "./postgres.js";
import { administratorEnv } from "./programs.js";
import { programPath } from "./serve-process.js";

/** What systemd has to say against a unit of this text. It also tells of the host's own units, which are no matter here. */
export async function complaintsOf(text: string): Promise<string> {
  const directory = await makeTestDirectory();
  try {
    const file = join(directory, "holdfast.service");
    // The program is not installed there on this machine, and systemd looks whether it is.
    await writeFile(file, text.replace("/usr/bin/holdfast", programPath));
    const options = { env: administratorEnv, encoding: "utf8" } as const;
    const { error, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", file], options);
    if (error !== undefined) throw error;
    return stderr
      .split("\n")
      .filter((line) => line.includes("holdfast.service"))
      .join("\n");
  } finally {
    await rm(directory, { recursive: true });
  }
}
