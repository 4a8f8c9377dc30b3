import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { copyFile, stat, truncate } from "node:fs/promises";

const limitBytes = 8 * 1024 * 1024;
const checkEveryMs = 60_000;
const tailBytes = 64 * 1024;
const tailLines = 12;

/**
 * The server writes to the file itself. Through a pipe, a blocked event loop here would fill the pipe and stop every session
 * that has something to log.
 */
export interface LogFile {
  /** For the children's standard output and error. */
  readonly fd: number;
  /** What is written from here on is recent. */
  mark(): void;
  /** What has been written since the last mark, or the opening, as far as it is still there. */
  recent(): string;
  /** The last lines of that. */
  tail(): string;
  close(): void;
}

export async function openLogFile(path: string): Promise<LogFile> {
  const fd = openSync(path, "a+", 0o600);
  await boundLogFile(path);
  let from = fstatSync(fd).size;
  const timer = setInterval(() => {
    // A full disk keeps the copy from being made. Then the log grows on, and the next round tries again.
    boundLogFile(path).catch(() => undefined);
  }, checkEveryMs);
  timer.unref();
  const recent = () => readFrom(fd, from);
  return {
    fd,
    mark() {
      from = fstatSync(fd).size;
    },
    recent,
    tail: () => recent().trimEnd().split("\n").slice(-tailLines).join("\n"),
    close() {
      clearInterval(timer);
      closeSync(fd);
    },
  };
}

/** Moves the content of a log that has grown too long to `<path>.1`. The writer appends, so it goes on at the new end. */
export async function boundLogFile(path: string, limit: number = limitBytes): Promise<void> {
  if ((await stat(path)).size <= limit) return;
  await copyFile(path, `${path}.1`);
  await truncate(path, 0);
}

/** By descriptor and not by path, so that the reason of an end is found after the directory was removed, too. */
function readFrom(fd: number, from: number): string {
  const { size } = fstatSync(fd);
  // Shorter than it was at first means that it was cut meanwhile, and all that stands there is new.
  const start = Math.max(size < from ? 0 : from, size - tailBytes);
  const buffer = Buffer.alloc(size - start);
  return buffer.toString("utf8", 0, readSync(fd, buffer, 0, buffer.length, start));
}
