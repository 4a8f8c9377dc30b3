import { createHash, generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import type { BigIntStats } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readdir, rename, unlink } from "node:fs/promises";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { join } from "node:path";
import ssh2, { type Attributes, type ParsedKey, type PublicKeyAuthContext, type SFTPWrapper } from "ssh2";

const { STATUS_CODE: status, OPEN_MODE: mode } = ssh2.utils.sftp;

/** An SFTP server of the test's own, over a folder of this machine. Its paths are those of that folder. */
export interface SftpServer extends AsyncDisposable {
  readonly port: number;
  /** As settings name it. */
  readonly hostKey: string;
  /** Who has it is let in without a password. */
  readonly privateKey: string;
  /** How many connections it has had. */
  readonly connections: () => number;
  /** Ends every connection, without a word. */
  cut(): void;
  /** Asked before each request; what it returns is awaited. "ignore" leaves the request without an answer. */
  before: (request: string, path: string) => Promise<"ignore" | undefined> | undefined;
}

export const sftpUser = { username: "lab", password: "open sesame" };

let madeKey: string | null = null;

/** Made once: it takes a while. */
function serverKey(): string {
  madeKey ??= generateKeyPairSync("rsa", {
    modulusLength: 2048,
    privateKeyEncoding: { type: "pkcs1", format: "pem" },
    publicKeyEncoding: { type: "pkcs1", format: "pem" },
  }).privateKey;
  return madeKey;
}

export async function startSftpServer(root: string): Promise<SftpServer> {
  const privateKey = serverKey();
  const parsed = ssh2.utils.parseKey(privateKey);
  if (parsed instanceof Error) throw parsed;
  const hostKey = `SHA256:${createHash("sha256").update(parsed.getPublicSSH()).digest("base64").replace(/=+$/, "")}`;
  const sockets = new Set<Socket>();
  let connections = 0;
  const ssh = new ssh2.Server({ hostKeys: [privateKey] }, (client) => {
    client.on("error", () => undefined);
    client.on("authentication", (context) => {
      if (context.method === "publickey") return answerKey(context, parsed);
      const isRight =
        context.method === "password" &&
        context.username === sftpUser.username &&
        context.password === sftpUser.password;
      if (isRight) context.accept();
      else context.reject(["password", "publickey"]);
    });
    client.on("session", (accept) => {
      accept().on("sftp", (acceptSftp) => serve(acceptSftp(), root, (request, path) => server.before(request, path)));
    });
  });
  const tcp = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => sockets.delete(socket));
    ssh.injectSocket(socket);
  }).listen(0, "127.0.0.1");
  await once(tcp, "listening");
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const server: SftpServer = {
    port: (tcp.address() as AddressInfo).port,
    hostKey,
    privateKey,
    connections: () => connections,
    cut,
    before: () => undefined,
    async [Symbol.asyncDispose]() {
      const closed = once(tcp, "close");
      tcp.close();
      cut();
      await closed;
    },
  };
  return server;
}

/** Its own key opens it too, to who has the private half. */
function answerKey(context: PublicKeyAuthContext, own: ParsedKey): void {
  const { key, blob, signature, hashAlgo } = context;
  const isKnown = context.username === sftpUser.username && key.data.equals(own.getPublicSSH());
  const isSigned = blob === undefined || signature === undefined || own.verify(blob, signature, hashAlgo) === true;
  if (isKnown && isSigned) context.accept();
  else context.reject(["password", "publickey"]);
}

interface OpenFile {
  readonly file: FileHandle | null;
  readonly path: string;
  isListed: boolean;
}

/** The requests that folders are worked on with, and no other. */
function serve(sftp: SFTPWrapper, root: string, before: SftpServer["before"]): void {
  const handles = new Map<number, OpenFile>();
  let nextHandle = 0;
  const keep = (opened: OpenFile): Buffer => {
    const handle = Buffer.alloc(4);
    handle.writeUInt32BE(nextHandle);
    handles.set(nextHandle, opened);
    nextHandle += 1;
    return handle;
  };
  const found = (handle: Buffer): OpenFile => handles.get(handle.readUInt32BE())!;
  const local = (path: string): string => join(root, path);
  const answer = (id: number, request: string, path: string, work: () => Promise<void>): void => {
    const run = async (): Promise<void> => {
      if ((await before(request, path)) === "ignore") return;
      await work();
    };
    run().catch((failure: unknown) => {
      const error = failure as NodeJS.ErrnoException;
      const known: Record<string, number> = { ENOENT: status.NO_SUCH_FILE, EACCES: status.PERMISSION_DENIED };
      sftp.status(id, known[error.code ?? ""] ?? status.FAILURE, error.message);
    });
  };
  const ok = (id: number): void => sftp.status(id, status.OK);
  sftp.on("OPEN", (id, path, flags) =>
    answer(id, "OPEN", path, async () => {
      const isWrite = (flags & mode.WRITE) !== 0;
      const file = await open(local(path), isWrite ? ((flags & mode.EXCL) !== 0 ? "wx" : "w") : "r");
      sftp.handle(id, keep({ file, path, isListed: false }));
    }),
  );
  sftp.on("READ", (id, handle, at, length) =>
    answer(id, "READ", found(handle).path, async () => {
      const buffer = Buffer.alloc(length);
      const { bytesRead } = await found(handle).file!.read(buffer, 0, length, at);
      if (bytesRead === 0) sftp.status(id, status.EOF);
      else sftp.data(id, buffer.subarray(0, bytesRead));
    }),
  );
  sftp.on("WRITE", (id, handle, at, data) =>
    answer(id, "WRITE", found(handle).path, async () => {
      await found(handle).file!.write(data, 0, data.length, at);
      ok(id);
    }),
  );
  sftp.on("FSTAT", (id, handle) =>
    answer(id, "FSTAT", found(handle).path, async () => {
      sftp.attrs(id, attributesOf(await found(handle).file!.stat({ bigint: true })));
    }),
  );
  const look = (id: number, path: string): void =>
    answer(id, "LSTAT", path, async () => sftp.attrs(id, attributesOf(await lstat(local(path), { bigint: true }))));
  sftp.on("LSTAT", look);
  sftp.on("STAT", look);
  sftp.on("OPENDIR", (id, path) =>
    answer(id, "OPENDIR", path, async () => {
      await readdir(local(path));
      sftp.handle(id, keep({ file: null, path, isListed: false }));
    }),
  );
  sftp.on("READDIR", (id, handle) =>
    answer(id, "READDIR", found(handle).path, async () => {
      const opened = found(handle);
      if (opened.isListed) return sftp.status(id, status.EOF);
      opened.isListed = true;
      const names = await readdir(local(opened.path));
      const listed = names.map(async (filename) => {
        const attrs = attributesOf(await lstat(local(join(opened.path, filename)), { bigint: true }));
        return { filename, longname: filename, attrs };
      });
      sftp.name(id, await Promise.all(listed));
    }),
  );
  sftp.on("CLOSE", (id, handle) =>
    answer(id, "CLOSE", found(handle).path, async () => {
      await found(handle).file?.close();
      handles.delete(handle.readUInt32BE());
      ok(id);
    }),
  );
  sftp.on("REMOVE", (id, path) => answer(id, "REMOVE", path, async () => unlink(local(path)).then(() => ok(id))));
  sftp.on("MKDIR", (id, path) => answer(id, "MKDIR", path, async () => mkdir(local(path)).then(() => ok(id))));
  sftp.on("RENAME", (id, from, to) =>
    answer(id, "RENAME", from, async () => {
      // As the protocol has it: never over another file.
      const there = await lstat(local(to)).catch(() => null);
      if (there !== null) return sftp.status(id, status.FAILURE);
      await rename(local(from), local(to));
      ok(id);
    }),
  );
  sftp.on("close", () => {
    for (const { file } of handles.values()) void file?.close().catch(() => undefined);
  });
}

function attributesOf(found: BigIntStats): Attributes {
  const seconds = (at: bigint): number => Number(at / 1_000_000_000n);
  return {
    mode: Number(found.mode),
    uid: Number(found.uid),
    gid: Number(found.gid),
    size: Number(found.size),
    atime: seconds(found.atimeNs),
    mtime: seconds(found.mtimeNs),
  };
}
