import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chown, lchown, readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { HoldfastError } from "../../errors.js";
import type { DataDirectory } from "./data-directory.js";

const run = promisify(execFile);

/**
 * As whom the server runs. PostgreSQL refuses to run as root. In a user namespace it believes to be somebody else while it
 * keeps root's access to root's own files, so the directory needs no other owner and may lie below a private one.
 */
export type RunAs =
  | { readonly kind: "self" }
  | { readonly kind: "namespace" }
  | { readonly kind: "user"; readonly uid: number; readonly gid: number };

const nobody = 65534;

export const namespaceCommand: readonly string[] = ["unshare", "--user", `--map-user=${nobody}`, "--"];

export async function chooseRunAs(directory: DataDirectory): Promise<RunAs> {
  if (process.getuid?.() !== 0) return { kind: "self" };
  if (process.platform !== "linux") {
    throw new HoldfastError(
      "EMBEDDED_UNSUPPORTED",
      "The embedded PostgreSQL does not run as root on this platform: start this program as an ordinary user.",
    );
  }
  const { uid, gid } = await stat(existsSync(directory.pgdata) ? directory.pgdata : directory.root);
  if (uid !== 0) return { kind: "user", uid, gid };
  return (await namespacesPermitted()) ? { kind: "namespace" } : { kind: "user", uid: nobody, gid: nobody };
}

async function namespacesPermitted(): Promise<boolean> {
  const [program = "", ...args] = namespaceCommand;
  try {
    await run(program, [...args, "true"]);
    return true;
  } catch {
    // Containers and hardened kernels forbid it, and busybox's unshare does not know the option.
    return false;
  }
}

/** Makes what the server needs its own, and says which directory is in its way where that is not enough. */
export async function grantAccess(runAs: RunAs, directory: DataDirectory, program: string): Promise<void> {
  if (runAs.kind === "self") return;
  if (runAs.kind === "user") {
    await chown(directory.root, runAs.uid, runAs.gid);
    await chown(directory.password, runAs.uid, runAs.gid);
    if (existsSync(directory.pgdata)) await giveTree(directory.pgdata, runAs.uid, runAs.gid);
  }
  const closed = await firstUnsearchable(runAs, [...ancestors(directory.root), ...ancestors(dirname(program))]);
  if (closed === undefined) return;
  const who = runAs.kind === "user" ? `user ${runAs.uid}` : "root without its privileges";
  throw new HoldfastError(
    "EMBEDDED_FAILED",
    `The embedded PostgreSQL must run as ${who} here, who may not enter ${closed}: open that directory with chmod o+x, or start this program as an ordinary user.`,
    { details: { directory: closed } },
  );
}

async function giveTree(top: string, uid: number, gid: number): Promise<void> {
  if ((await stat(top)).uid === uid) return;
  for (const entry of await readdir(top, { recursive: true })) await lchown(join(top, entry), uid, gid);
  // The top last: it is what a later start looks at, so an interrupted change of owner is done again.
  await chown(top, uid, gid);
}

/** Asks the kernel as that user, since mode bits alone do not tell. */
async function firstUnsearchable(runAs: RunAs, directories: readonly string[]): Promise<string | undefined> {
  const script = 'for d; do test -x "$d" || { printf %s "$d"; break; }; done';
  const shell = ["/bin/sh", "-c", script, "sh", ...directories];
  const [program = "", ...args] = runAs.kind === "namespace" ? [...namespaceCommand, ...shell] : shell;
  const { stdout } = await run(program, args, {
    cwd: "/",
    ...(runAs.kind === "user" && { uid: runAs.uid, gid: runAs.gid }),
  });
  return stdout === "" ? undefined : stdout;
}

function ancestors(path: string): readonly string[] {
  const parent = dirname(path);
  return parent === path ? [path] : [...ancestors(parent), path];
}
