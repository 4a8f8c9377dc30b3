import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("embedded-owner.mjs", import.meta.url));
const builtServer = fileURLToPath(new URL("../../dist/store/embedded/server.js", import.meta.url));

export type OwnerMessage =
  | { readonly kind: "ready"; readonly url: string; readonly pid: number }
  | { readonly kind: "failed"; readonly code: string; readonly message: string }
  | { readonly kind: "interrupted" }
  | { readonly kind: "stopped" };

export interface OwnerOptions {
  readonly dataDir: string;
  /** Words before the command, to run it as somebody else. */
  readonly prefix?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Another place of the built code, and of this support script, for users who cannot read this one. */
  readonly modulePath?: string;
  readonly scriptPath?: string;
}

/** Another process that runs an embedded server. Disposing kills it. */
export interface EmbeddedOwner extends Disposable {
  readonly child: ChildProcessByStdio<Writable, Readable, null>;
  readonly exited: Promise<unknown>;
  /** What it says next. Fails when it ends without a word. */
  next(): Promise<OwnerMessage>;
}

export const ownerScript = script;

export function spawnOwner({
  dataDir,
  prefix = [],
  env = {},
  modulePath = builtServer,
  scriptPath = script,
}: OwnerOptions): EmbeddedOwner {
  const [program, ...args] = [...prefix, process.execPath, scriptPath, modulePath, dataDir];
  const child = spawn(program, args, {
    cwd: "/",
    detached: true,
    env: { ...process.env, ...env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    child,
    exited,
    async next() {
      const { value, done } = await lines.next();
      if (done) throw new Error("The owner process ended without a word");
      return JSON.parse(value) as OwnerMessage;
    },
    [Symbol.dispose]() {
      child.kill("SIGKILL");
    },
  };
}
