import { type ChildProcess, spawn } from "node:child_process";
import type { Duplex } from "node:stream";
import { guardianFd, type Lifeline, lifelineCommand } from "./lifeline.js";
import { namespaceCommand, type RunAs } from "./run-as.js";

export interface LaunchOptions {
  readonly runAs: RunAs;
  readonly lifeline: Lifeline;
  readonly cwd: string;
  /** Where standard output and error go, a file descriptor. */
  readonly logFd: number;
  readonly env?: Readonly<Record<string, string>>;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Why the program could not even be started. */
  readonly error?: Error;
}

export interface Launched {
  readonly child: ChildProcess;
  readonly exited: Promise<Exit>;
}

/** Runs one of PostgreSQL's programs: not as root, in a session of its own, and never longer than this process lives. */
export function launch(command: readonly string[], options: LaunchOptions): Launched {
  const { runAs, lifeline, logFd } = options;
  const [program = "", ...args] = [
    ...(runAs.kind === "namespace" ? namespaceCommand : []),
    ...lifelineCommand(lifeline),
    ...command,
  ];
  const child = spawn(program, args, {
    cwd: options.cwd,
    // A session of its own keeps the terminal's Ctrl-C away: this process decides when and how the server stops.
    detached: true,
    // Nothing of the caller's environment: PGDATA, PGOPTIONS or a foreign locale would change what runs.
    // biome-ignore lint/style/noProcessEnv: PATH is where the operating system's own programs are, no setting of ours.
    env: { PATH: process.env.PATH ?? "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC", ...options.env },
    stdio: ["ignore", logFd, logFd, lifeline === "guardian" ? "pipe" : "ignore"],
    ...(runAs.kind === "user" && { uid: runAs.uid, gid: runAs.gid }),
  });
  const exited = new Promise<Exit>((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
    child.once("error", (error) => resolve({ code: null, signal: null, error }));
  });
  if (lifeline === "guardian") dismissGuardianAtExit(child, exited);
  return { child, exited };
}

function dismissGuardianAtExit(child: ChildProcess, exited: Promise<Exit>): void {
  const pipe = child.stdio[guardianFd] as (Duplex & { unref?: () => void }) | null | undefined;
  if (!pipe) return;
  // The guardian ends together with the server at times, and then nobody reads the line. That is as good.
  pipe.on("error", () => pipe.destroy());
  pipe.unref?.();
  void exited.then(() => pipe.end("\n"));
}
