import { randomBytes } from "node:crypto";
import { type BigIntStats, constants, type Dirent } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readdir, readFile, rename, rm, stat, unlink } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Clock } from "../../../election/clock.js";
import { HoldfastError } from "../../../errors.js";
import { codeOf, orGone } from "./error-code.js";
import type { FileInboundSettings } from "./file-inbound-settings.js";
import type { FileReading, FolderEntry, InboundFolder, Shelf } from "./folder.js";
import { freeName } from "./free-name.js";
import { asideName, beforeAside } from "./hidden-name.js";
import { renameOverNothing } from "./rename-over-nothing.js";

/** A folder of this machine, or one that is mounted here. */
export class LocalFolder implements InboundFolder {
  readonly place: string;
  private readonly settings: FileInboundSettings;
  private readonly clock: Clock;
  private readonly whose: string;

  constructor(settings: FileInboundSettings, clock: Clock, whose: string) {
    this.place = settings.folder;
    this.settings = settings;
    this.clock = clock;
    this.whose = whose;
  }

  async open(): Promise<void> {
    const { folder, archive, errors, after } = this.settings;
    const found = await stat(folder).catch((error: unknown) => {
      throw this.bad(`the folder ${folder} cannot be looked at (${codeOf(error)}): make it, on every node`, error);
    });
    if (!found.isDirectory()) throw this.bad(`${folder} is no folder`);
    for (const to of after === "archive" ? [archive, errors] : [errors]) await this.tryMove(to);
    await this.restore();
  }

  async list(): Promise<readonly FolderEntry[]> {
    const { folder } = this.settings;
    const listed = await readdir(folder, { withFileTypes: true });
    const entries: FolderEntry[] = [];
    for (const dirent of listed) {
      const kind = kindOf(dirent);
      if (kind === "folder") continue;
      const found = await lstat(join(folder, dirent.name), { bigint: true }).catch(orGone);
      // A name that is not UTF-8 is listed, and not found: it must still be told of.
      if (found !== null) entries.push(entryOf(dirent.name, kind, found));
      else if (dirent.name.includes("\ufffd")) entries.push({ name: dirent.name, kind, bytes: 0, modified: 0n });
    }
    return entries;
  }

  async look(name: string, on: Shelf | null = null): Promise<FolderEntry | null> {
    const found = await lstat(this.pathOf(name, on), { bigint: true }).catch(orGone);
    return found === null ? null : entryOf(name, kindOf(found), found);
  }

  async read(entry: FolderEntry, most: number, on: Shelf | null = null): Promise<FileReading> {
    if (entry.bytes > most) return { kind: "too large" };
    let file: FileHandle;
    try {
      // A link is not followed, and a pipe that nobody writes to does not hold the poll up.
      const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
      file = await open(this.pathOf(entry.name, on), flags);
    } catch (error) {
      const code = codeOf(error);
      if (code === "ENOENT") return { kind: "gone" };
      if (["EACCES", "EPERM", "ELOOP", "ENXIO"].includes(code)) return { kind: "unreadable", reason: code };
      throw error;
    }
    try {
      return await readUnchanged(file, entry);
    } finally {
      await file.close();
    }
  }

  async move(name: string, to: Shelf, digest: string | null = null): Promise<string | null> {
    const isTaken = async (candidate: string): Promise<boolean> =>
      (await lstat(this.pathOf(candidate, to)).catch(orGone)) !== null;
    const free = to === "aside" ? asideName(name, digest) : await freeName(name, isTaken, this.clock.wall());
    try {
      await rename(this.pathOf(name), this.pathOf(free, to));
      return free;
    } catch (error) {
      if (codeOf(error) === "ENOENT" && (await lstat(this.pathOf(name)).catch(orGone)) === null) return null;
      throw error;
    }
  }

  async putBack(moved: string, from: Shelf, name: string): Promise<boolean> {
    return await renameOverNothing(this.pathOf(moved, from), this.pathOf(name));
  }

  async remove(name: string): Promise<void> {
    await unlink(this.pathOf(name)).catch(orGone);
  }

  async close(): Promise<void> {
    // Nothing is kept open between two looks.
  }

  /** What a leader had put aside that ended before it removed it. What cannot be looked at stays there until the next time. */
  private async restore(): Promise<void> {
    for (const hidden of await readdir(this.place)) {
      const aside = beforeAside(hidden);
      if (aside === null) continue;
      try {
        if (aside.wasRead(await readFile(this.pathOf(hidden)))) await this.remove(hidden);
        else await this.putBack(hidden, "aside", aside.name);
      } catch {
        // It is there, out of sight.
      }
    }
  }

  /** Whether files can be moved there at all: tried out, for a mount, a right or a quota can each forbid it. */
  private async tryMove(to: string): Promise<void> {
    const probe = `.holdfast-${randomBytes(8).toString("hex")}.probe`;
    const from = join(this.place, probe);
    try {
      await mkdir(to, { recursive: true });
      await (await open(from, "wx")).close();
      await rename(from, join(to, probe));
    } catch (error) {
      const code = codeOf(error);
      if (code === "EXDEV") {
        throw this.bad(
          `${to} is on another file system than ${this.place}, so a file cannot go there in one step`,
          error,
        );
      }
      throw this.bad(`files cannot be moved from ${this.place} to ${basename(to)} (${code}): check the rights`, error);
    } finally {
      await rm(from, { force: true });
      await rm(join(to, probe), { force: true });
    }
  }

  private pathOf(name: string, on: Shelf | null = null): string {
    return join(on === null || on === "aside" ? this.place : this.settings[on], name);
  }

  private bad(problem: string, cause?: unknown): HoldfastError {
    return new HoldfastError("BAD_SETTINGS", `${this.whose}: ${problem}.`, { cause });
  }
}

/** The listing may be old: the file itself must be what it said, before and after it was read. */
async function readUnchanged(file: FileHandle, entry: FolderEntry): Promise<FileReading> {
  const before = await file.stat({ bigint: true });
  if (!before.isFile()) return { kind: "unreadable", reason: "it is no plain file" };
  if (!isAsListed(before, entry)) return { kind: "changing" };
  const body = Buffer.allocUnsafe(entry.bytes);
  for (let at = 0; at < body.length; ) {
    const { bytesRead } = await file.read(body, at, body.length - at, at);
    if (bytesRead === 0) return { kind: "changing" };
    at += bytesRead;
  }
  return isAsListed(await file.stat({ bigint: true }), entry) ? { kind: "read", body } : { kind: "changing" };
}

function isAsListed({ size, mtimeNs }: BigIntStats, { bytes, modified }: FolderEntry): boolean {
  return size === BigInt(bytes) && mtimeNs === modified;
}

function entryOf(name: string, kind: FolderEntry["kind"], { size, mtimeNs, ino }: BigIntStats): FolderEntry {
  return { name, kind, bytes: Number(size), modified: mtimeNs, id: ino };
}

function kindOf(dirent: Dirent | BigIntStats): FolderEntry["kind"] {
  if (dirent.isFile()) return "file";
  if (dirent.isDirectory()) return "folder";
  return dirent.isSymbolicLink() ? "link" : "other";
}
