import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, open, readFile, realpath, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { HoldfastError } from "../../errors.js";

/** What stands where below the directory that the user named. */
export interface DataDirectory {
  /** The directory itself, free of symbolic links. */
  readonly root: string;
  /** PostgreSQL's own directory. It appears by a rename, complete or not at all. */
  readonly pgdata: string;
  /** The superuser's password, mode 0600. */
  readonly password: string;
  /** Which process runs the server. */
  readonly owner: string;
  readonly log: string;
}

export async function openDataDirectory(path: string): Promise<DataDirectory> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new HoldfastError(
      "EMBEDDED_FAILED",
      `The data directory ${path} cannot be made: ${(cause as Error).message}`,
      { cause },
    );
  }
  const root = await realpath(path);
  if (existsSync(join(root, "PG_VERSION"))) {
    throw new HoldfastError(
      "EMBEDDED_FAILED",
      `${root} is the directory of another PostgreSQL server; give the embedded one a directory of its own.`,
    );
  }
  return {
    root,
    pgdata: join(root, "data"),
    password: join(root, "password"),
    owner: join(root, "owner.json"),
    log: join(root, "postgres.log"),
  };
}

/** A major version does not read the files of another, and says so only in its log. */
export async function checkMajor(directory: DataDirectory, major: number): Promise<void> {
  const found = (await readFile(join(directory.pgdata, "PG_VERSION"), "utf8")).trim();
  if (found !== String(major)) {
    throw new HoldfastError(
      "EMBEDDED_FAILED",
      `${directory.pgdata} was made by PostgreSQL ${found}, and the embedded one is PostgreSQL ${major}: dump it with ${found} and restore it, or name another directory.`,
      { details: { found, major } },
    );
  }
}

/**
 * The password is made before the cluster and kept, so a start that was cut short finds the same one again. It comes into
 * being by a rename, since half a password would lock us out.
 */
export async function ensurePassword(directory: DataDirectory): Promise<string> {
  if (existsSync(directory.password)) return (await readFile(directory.password, "utf8")).trim();
  if (existsSync(directory.pgdata)) {
    throw new HoldfastError(
      "EMBEDDED_FAILED",
      `${directory.password} is missing, and without it nobody can log in to ${directory.pgdata}.`,
    );
  }
  const password = randomBytes(24).toString("base64url");
  const draft = `${directory.password}.new`;
  await rm(draft, { force: true });
  const file = await open(draft, "wx", 0o600);
  try {
    await file.writeFile(`${password}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, directory.password);
  return password;
}
