import { type SftpLink, type SftpStep, statusOf } from "./sftp-link.js";

/** What every server takes in one request. */
const chunkBytes = 32_768;
/** So many requests are under way at a time, so that distance costs little. */
const width = 16;

type Step = <Result>(ask: SftpStep<Result>) => Promise<Result>;

/** What a server tells of a file. */
export interface SftpAttributes {
  readonly mode: number;
  readonly size: number;
  /** In seconds. */
  readonly mtime: number;
}

export interface SftpListed {
  readonly filename: string;
  readonly attrs: SftpAttributes;
}

/** The steps that folders are worked on with. Paths are those of the server. */
export class SftpFiles {
  private readonly link: SftpLink;
  private readonly step: Step;

  constructor(link: SftpLink) {
    this.link = link;
    this.step = (ask) => link.step(ask);
  }

  async list(path: string): Promise<readonly SftpListed[]> {
    return await this.step<readonly SftpListed[]>((session, done) => session.readdir(path, done));
  }

  /** Of the thing itself, also where it is a link; null where there is none. */
  async look(path: string): Promise<SftpAttributes | null> {
    try {
      return await this.step<SftpAttributes>((session, done) => session.lstat(path, done));
    } catch (error) {
      if (statusOf(error) === 2) return null;
      throw error;
    }
  }

  async makeFolder(path: string): Promise<void> {
    if ((await this.look(path)) !== null) return;
    await this.step((session, done) => session.mkdir(path, done));
  }

  /** `expected` looks at what the open file is, before and after it was read; null where it is not as expected. */
  async read(path: string, bytes: number, expected: (found: SftpAttributes) => boolean): Promise<Buffer | null> {
    return await this.withFile(path, "r", async (handle, step) => {
      const isExpected = async (): Promise<boolean> =>
        expected(await step<SftpAttributes>((session, done) => session.fstat(handle, done)));
      if (!(await isExpected())) return null;
      const body = Buffer.alloc(bytes);
      const whole = await inChunks(bytes, async (at, length) => {
        let read = 0;
        while (read < length) {
          const more = await readChunk(step, handle, body, at + read, length - read);
          if (more === 0) return false;
          read += more;
        }
        return true;
      });
      return whole && (await isExpected()) ? body : null;
    });
  }

  /** Writes all of it, to the disk where the server can. The file must not be there. */
  async write(path: string, body: Buffer): Promise<void> {
    await this.withFile(path, "wx", async (handle, step) => {
      await inChunks(body.length, async (at, length) => {
        await step((session, done) => session.write(handle, body, at, length, at, done));
        return true;
      });
      await extended(step, (session, done) => session.ext_openssh_fsync(handle, done));
    });
  }

  async rename(from: string, to: string): Promise<void> {
    await this.step((session, done) => session.rename(from, to, done));
  }

  /** Over what is there, in one step. False where the server cannot. */
  async replace(from: string, to: string): Promise<boolean> {
    return await extended(this.step, (session, done) => session.ext_openssh_rename(from, to, done));
  }

  /** Gone already is as good. */
  async remove(path: string): Promise<void> {
    try {
      await this.step((session, done) => session.unlink(path, done));
    } catch (error) {
      if (statusOf(error) !== 2) throw error;
    }
  }

  private async withFile<Result>(
    path: string,
    flags: "r" | "wx",
    work: (handle: Buffer, step: Step) => Promise<Result>,
  ): Promise<Result> {
    const on = await this.link.session();
    const step: Step = (ask) => this.link.step(ask, on);
    const handle = await step<Buffer>((session, done) => session.open(path, flags, done));
    let result: Result;
    try {
      result = await work(handle, step);
    } catch (error) {
      // What went wrong first counts; a handle that cannot be closed goes with its connection.
      await step((session, done) => session.close(handle, done)).catch(() => undefined);
      throw error;
    }
    await step((session, done) => session.close(handle, done));
    return result;
  }
}

/**
 * What only some servers can: false where this one cannot. The library throws, before it asks, where the server did not name
 * the extension; a server may also answer so.
 */
async function extended(step: Step, ask: SftpStep<unknown>): Promise<boolean> {
  const unsupported = 8;
  let isKnown = true;
  try {
    await step<unknown>((session, done) => {
      try {
        ask(session, done);
      } catch {
        isKnown = false;
        done(undefined);
      }
    });
    return isKnown;
  } catch (error) {
    if (statusOf(error) === unsupported) return false;
    throw error;
  }
}

/** 0 at the end of the file, which the protocol has a status for. */
async function readChunk(step: Step, handle: Buffer, body: Buffer, at: number, length: number): Promise<number> {
  const endOfFile = 1;
  try {
    return await step<number>((session, done) => session.read(handle, body, at, length, at, done));
  } catch (error) {
    if (statusOf(error) === endOfFile) return 0;
    throw error;
  }
}

/** Calls for each chunk, some at a time. False as soon as one says so. */
async function inChunks(bytes: number, work: (at: number, length: number) => Promise<boolean>): Promise<boolean> {
  let next = 0;
  let isWhole = true;
  const run = async (): Promise<void> => {
    while (next < bytes && isWhole) {
      const at = next;
      next += chunkBytes;
      // Until it has come to a good end the others go no further.
      const isGood = await work(at, Math.min(chunkBytes, bytes - at)).catch((error: unknown) => {
        isWhole = false;
        throw error;
      });
      if (!isGood) isWhole = false;
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, Math.ceil(bytes / chunkBytes)) }, run));
  return isWhole;
}
