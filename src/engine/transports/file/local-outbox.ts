import { constants } from "node:fs";
import { lstat, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../../election/clock.js";
import { errorText, HoldfastError } from "../../../errors.js";
import type { OutboundFolder, RenameEnd } from "./folder.js";
import { isAbandoned } from "./hidden-name.js";
import { lookAndRename } from "./rename-over-nothing.js";

/** A folder of this machine, or one that is mounted here. */
export class LocalOutbox implements OutboundFolder {
  readonly turnsOf: string;
  private readonly folder: string;
  private readonly clock: Clock;
  private readonly whose: string;
  private isOpen = false;

  constructor(folder: string, clock: Clock, whose: string) {
    this.turnsOf = folder;
    this.folder = folder;
    this.clock = clock;
    this.whose = whose;
  }

  /** Sweeps once what a leader left behind that ended while it wrote. */
  async open(): Promise<void> {
    if (this.isOpen) return;
    const found = await stat(this.folder).catch(() => null);
    if (found?.isDirectory() !== true) {
      throw new HoldfastError(
        "BAD_SETTINGS",
        `${this.whose}: there is no folder ${this.folder}: make it, on every node.`,
      );
    }
    for (const name of await readdir(this.folder)) {
      if (!name.startsWith(".")) continue;
      const left = await stat(this.pathOf(name)).catch(() => null);
      if (left !== null && isAbandoned(name, this.clock.wall() - left.mtimeMs)) await this.remove(name);
    }
    this.isOpen = true;
  }

  async writeHidden(name: string, body: Buffer): Promise<void> {
    const file = await open(this.pathOf(name), "wx");
    try {
      await file.writeFile(body);
      await file.sync();
    } finally {
      await file.close();
    }
  }

  async compare(name: string, body: Buffer): Promise<"absent" | "same" | "other"> {
    const found = await lstat(this.pathOf(name)).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
      throw error;
    });
    if (found === null) return "absent";
    if (!found.isFile() || found.size !== body.length) return "other";
    return (await readFile(this.pathOf(name)).catch(() => null))?.equals(body) === true ? "same" : "other";
  }

  async rename(hidden: string, name: string, replace: boolean): Promise<RenameEnd> {
    const [from, to] = [this.pathOf(hidden), this.pathOf(name)];
    try {
      if (replace) await rename(from, to);
      else if (!(await lookAndRename(from, to))) return { kind: "exists" };
      return { kind: "renamed" };
    } catch (error) {
      return { kind: "failed", reason: errorText(error), isUnknown: false };
    }
  }

  async settle(): Promise<void> {
    const folder = await open(this.folder, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }

  async remove(name: string): Promise<void> {
    await rm(this.pathOf(name), { force: true });
  }

  async close(): Promise<void> {
    this.isOpen = false;
  }

  private pathOf(name: string): string {
    return join(this.folder, name);
  }
}
