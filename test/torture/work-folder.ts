import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { chmod, copyFile, mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { administratorEnv } from "../support/programs.js";
import { isAlive } from "./left-over.js";

const prefix = "holdfast-torture-";

export interface WorkFolder extends AsyncDisposable {
  readonly path: string;
}

/** Where a run keeps its databases, logs and histories. What runs that were killed left behind is removed first. */
export async function openWorkFolder(): Promise<WorkFolder> {
  for (const name of await readdir(tmpdir())) {
    const pid = new RegExp(`^${prefix}(\\d+)-`).exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) await remove(join(tmpdir(), name));
  }
  const path = await mkdtemp(join(tmpdir(), `${prefix}${process.pid}-`));
  // The pooler runs as another user, and reads its settings there.
  await chmod(path, 0o755);
  return { path, [Symbol.asyncDispose]: () => remove(path) };
}

/** What nodes and servers logged, for whoever wants to know why. */
export async function keepLogs(folder: string, target: string): Promise<void> {
  await mkdir(target, { recursive: true });
  const isLog = (name: string): boolean => name.endsWith(".log") || name.endsWith("/log");
  for (const name of (await readdir(folder, { recursive: true })).filter(isLog))
    await copyFile(join(folder, name), join(target, name.replace(/^nodes\//, "").replaceAll("/", "-")));
}

/** File systems that are mounted below it go first. */
async function remove(folder: string): Promise<void> {
  const mounts = readFileSync("/proc/self/mounts", "utf8").split("\n");
  for (const mount of mounts.map((line) => line.split(" ")[1] ?? "").filter((path) => path.startsWith(`${folder}/`)))
    execFileSync("umount", ["--lazy", mount], { env: administratorEnv });
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}
