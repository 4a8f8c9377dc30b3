import type { Clock } from "../../../election/clock.js";
import { errorText } from "../../../errors.js";
import type { OutboundFolder, RenameEnd } from "../file/folder.js";
import { isAbandoned } from "../file/hidden-name.js";
import { SftpFiles } from "./sftp-files.js";
import { SftpLink, statusOf, Unanswered } from "./sftp-link.js";
import type { SftpOutboundSettings } from "./sftp-settings.js";

/** A folder of an SFTP server. */
export class SftpOutbox implements OutboundFolder {
  readonly turnsOf = null;
  private readonly folder: string;
  private readonly link: SftpLink;
  private readonly files: SftpFiles;
  private readonly clock: Clock;
  private isSwept = false;

  constructor(settings: SftpOutboundSettings, clock: Clock, whose: string) {
    this.folder = settings.folder;
    this.clock = clock;
    this.link = new SftpLink(settings, clock, whose);
    this.files = new SftpFiles(this.link);
  }

  async open(): Promise<void> {
    await this.link.session();
    if (this.isSwept) return;
    this.isSwept = true;
    await this.sweep();
  }

  async writeHidden(name: string, body: Buffer): Promise<void> {
    await this.files.write(this.pathOf(name), body);
  }

  async compare(name: string, body: Buffer): Promise<"absent" | "same" | "other"> {
    const found = await this.files.look(this.pathOf(name));
    if (found === null) return "absent";
    if (found.size !== body.length) return "other";
    const there = await this.files.read(this.pathOf(name), body.length, ({ size }) => size === body.length);
    return there?.equals(body) === true ? "same" : "other";
  }

  async rename(hidden: string, name: string, replace: boolean): Promise<RenameEnd> {
    const [from, to] = [this.pathOf(hidden), this.pathOf(name)];
    try {
      if (replace && (await this.files.replace(from, to))) return { kind: "renamed" };
      // A server without that can only take the old one away first. A name is missing then for a moment, never half there.
      if (replace) await this.files.remove(to);
      await this.files.rename(from, to);
      return { kind: "renamed" };
    } catch (error) {
      return await this.failed(error, to, replace);
    }
  }

  async settle(): Promise<void> {
    // A name on a server is as lasting as that server makes it: there is nothing that we could ask for.
  }

  async remove(name: string): Promise<void> {
    await this.files.remove(this.pathOf(name));
  }

  async close(): Promise<void> {
    await this.link.close();
  }

  /** Takes away, once, what a leader left behind that ended while it wrote. Some servers let us write and not look. */
  private async sweep(): Promise<void> {
    try {
      for (const { filename, attrs } of await this.files.list(this.folder)) {
        if (isAbandoned(filename, this.clock.wall() - attrs.mtime * 1_000)) await this.remove(filename);
      }
    } catch (error) {
      if (statusOf(error) === null) throw error;
    }
  }

  /** The protocol has no status for a name that is taken: it is looked for. */
  private async failed(error: unknown, to: string, replace: boolean): Promise<RenameEnd> {
    const reason = errorText(error);
    if (error instanceof Unanswered) return { kind: "failed", reason, isUnknown: true };
    const there = replace ? null : await this.files.look(to).catch(() => null);
    return there === null ? { kind: "failed", reason, isUnknown: false } : { kind: "exists" };
  }

  private pathOf(name: string): string {
    return `${this.folder}/${name}`;
  }
}
