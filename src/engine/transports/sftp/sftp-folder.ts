import { randomBytes } from "node:crypto";
import type { Clock } from "../../../election/clock.js";
import type { FileReading, FolderEntry, InboundFolder, Shelf } from "../file/folder.js";
import { freeName } from "../file/free-name.js";
import { asideName, beforeAside } from "../file/hidden-name.js";
import { type SftpAttributes, SftpFiles } from "./sftp-files.js";
import { SftpLink, type SftpSession, statusOf } from "./sftp-link.js";
import type { SftpInboundSettings } from "./sftp-settings.js";

const notAllowed = 3;

/** A folder of an SFTP server. A server that is away is told at each look, and waited for. */
export class SftpFolder implements InboundFolder {
  readonly place: string;
  private readonly settings: SftpInboundSettings;
  private readonly clock: Clock;
  private readonly link: SftpLink;
  private readonly files: SftpFiles;
  /** The connection for which the folders were looked at. */
  private prepared: SftpSession | null = null;

  constructor(settings: SftpInboundSettings, clock: Clock, whose: string) {
    this.place = `sftp://${settings.username}@${settings.host}:${settings.port}${settings.folder}`;
    this.settings = settings;
    this.clock = clock;
    this.link = new SftpLink(settings, clock, whose);
    this.files = new SftpFiles(this.link);
  }

  async open(): Promise<void> {
    this.link.reopen();
    await this.link.check();
  }

  async list(): Promise<readonly FolderEntry[]> {
    await this.prepare();
    const listed = await this.files.list(this.settings.folder);
    const entries = listed.map(({ filename, attrs }) => entryOf(filename, attrs));
    return entries.filter(({ kind, name }) => kind !== "folder" && name !== "." && name !== "..");
  }

  async look(name: string, on: Shelf | null = null): Promise<FolderEntry | null> {
    const found = await this.files.look(this.pathOf(name, on));
    return found === null ? null : entryOf(name, found);
  }

  async read(entry: FolderEntry, most: number, on: Shelf | null = null): Promise<FileReading> {
    if (entry.bytes > most) return { kind: "too large" };
    const path = this.pathOf(entry.name, on);
    try {
      const found = await this.files.look(path);
      if (found === null) return { kind: "gone" };
      if (!isAsListed(found, entry)) return { kind: "changing" };
      const body = await this.files.read(path, entry.bytes, (open) => isAsListed(open, entry));
      return body === null ? { kind: "changing" } : { kind: "read", body };
    } catch (error) {
      if (statusOf(error) === 2) return { kind: "gone" };
      if (statusOf(error) === notAllowed) return { kind: "unreadable", reason: "permission denied" };
      throw error;
    }
  }

  async move(name: string, to: Shelf, digest: string | null = null): Promise<string | null> {
    const isTaken = async (candidate: string): Promise<boolean> =>
      (await this.files.look(this.pathOf(candidate, to))) !== null;
    const free = to === "aside" ? asideName(name, digest) : await freeName(name, isTaken, this.clock.wall());
    try {
      await this.files.rename(this.pathOf(name), this.pathOf(free, to));
      return free;
    } catch (error) {
      if (statusOf(error) !== null && (await this.files.look(this.pathOf(name))) === null) return null;
      throw error;
    }
  }

  async putBack(moved: string, from: Shelf, name: string): Promise<boolean> {
    try {
      // By the protocol a rename replaces nothing.
      await this.files.rename(this.pathOf(moved, from), this.pathOf(name));
      return true;
    } catch (error) {
      if (statusOf(error) !== null && (await this.files.look(this.pathOf(name))) !== null) return false;
      throw error;
    }
  }

  async remove(name: string): Promise<void> {
    await this.files.remove(this.pathOf(name));
  }

  async close(): Promise<void> {
    await this.link.close();
  }

  /** Once a connection: the folders are there, and a file can go there in one step. */
  private async prepare(): Promise<void> {
    const session = await this.link.session();
    if (this.prepared === session) return;
    const { archive, errors, after } = this.settings;
    for (const to of after === "archive" ? [archive, errors] : [errors]) await this.tryMove(to);
    await this.restore();
    this.prepared = session;
  }

  /** What a leader had put aside that ended before it removed it. What cannot be looked at stays there until the next time. */
  private async restore(): Promise<void> {
    for (const { filename, attrs } of await this.files.list(this.settings.folder)) {
      const aside = beforeAside(filename);
      if (aside === null) continue;
      try {
        const body = await this.files.read(this.pathOf(filename), attrs.size, () => true);
        if (body !== null && aside.wasRead(body)) await this.remove(filename);
        else await this.putBack(filename, "aside", aside.name);
      } catch (error) {
        if (statusOf(error) === null) throw error;
      }
    }
  }

  private async tryMove(to: string): Promise<void> {
    const probe = `.holdfast-${randomBytes(8).toString("hex")}.probe`;
    const from = this.pathOf(probe);
    try {
      await this.files.makeFolder(to);
      await this.files.write(from, Buffer.alloc(0));
      await this.files.rename(from, `${to}/${probe}`);
    } catch (error) {
      if (statusOf(error) === null) throw error;
      const why = "check that both are there, that we may write to both, and that they are on one file system";
      throw new Error(`files cannot be moved from ${this.settings.folder} to ${to}: ${why}`, { cause: error });
    } finally {
      // The connection may be what failed: then the probe stays, hidden and empty.
      await this.files.remove(from).catch(() => undefined);
      await this.files.remove(`${to}/${probe}`).catch(() => undefined);
    }
  }

  private pathOf(name: string, on: Shelf | null = null): string {
    const { settings } = this;
    return `${on === null || on === "aside" ? settings.folder : settings[on]}/${name}`;
  }
}

function isAsListed(found: SftpAttributes, entry: FolderEntry): boolean {
  const { kind, bytes, modified } = entryOf(entry.name, found);
  return kind === "file" && bytes === entry.bytes && modified === entry.modified;
}

function entryOf(name: string, { mode, size, mtime }: SftpAttributes): FolderEntry {
  return { name, kind: kindOf(mode), bytes: size, modified: BigInt(Math.round(mtime)) * 1_000_000_000n };
}

/** The bits of POSIX, which the protocol has taken over. */
function kindOf(mode: number): FolderEntry["kind"] {
  switch (mode & 0o170000) {
    case 0o100000:
      return "file";
    case 0o040000:
      return "folder";
    case 0o120000:
      return "link";
    default:
      return "other";
  }
}
