import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import type { Exit } from "./serve-process.js";

const patienceMs = 60_000;

export interface ProgramOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** What complaints call it. */
  readonly name: string;
}

/** A program in a process group of its own, whose lines are read. Disposing kills all of the group. */
export interface StartedProgram extends AsyncDisposable {
  readonly pid: number;
  /** Every line of its output so far, of both streams as they came. */
  readonly lines: readonly string[];
  readonly stdout: readonly string[];
  readonly stderr: readonly string[];
  readonly exited: Promise<Exit>;
  /** Resolves with the first line that matches, also one that has already been. */
  line(pattern: RegExp): Promise<RegExpMatchArray>;
  /** To all processes of the group, as a terminal sends its Ctrl-C. */
  signal(name: NodeJS.Signals): void;
  /** Sends the signal and resolves when the process has ended. */
  end(name: NodeJS.Signals): Promise<Exit>;
}

export function startProgram([program = "", ...args]: readonly string[], options: ProgramOptions): StartedProgram {
  const { cwd, env, name } = options;
  const child = spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
  const lines: string[] = [];
  const read = (stream: Readable): readonly string[] => {
    const own: string[] = [];
    createInterface({ input: stream }).on("line", (line) => {
      own.push(line);
      lines.push(line);
    });
    return own;
  };
  const stdout = read(child.stdout);
  const stderr = read(child.stderr);
  // On "close" and not on "exit": by then all lines have been read.
  const exited = once(child, "close").then(([code, signal]): Exit => ({ code, signal }));
  let ended: Exit | undefined;
  void exited.then((exit) => {
    ended = exit;
  });
  const pid = child.pid ?? 0;
  const signal = (which: NodeJS.Signals): void => sendToGroup(pid, which);
  return {
    pid,
    lines,
    stdout,
    stderr,
    exited,
    async line(pattern) {
      const deadline = performance.now() + patienceMs;
      for (;;) {
        // Looked at before the lines: what is there after the end is all there will be.
        const last = ended !== undefined || performance.now() > deadline;
        const found = lines.map((line) => line.match(pattern)).find((match) => match !== null);
        if (found !== undefined) return found;
        if (last) throw new Error(`${name} (${describe(ended)}) printed no ${pattern}, but:\n${lines.join("\n")}`);
        await pause(10);
      }
    },
    signal,
    async end(which) {
      signal(which);
      return await exited;
    },
    async [Symbol.asyncDispose]() {
      signal("SIGKILL");
      await exited;
    },
  };
}

function describe(exit: Exit | undefined): string {
  return exit === undefined ? "still running" : `ended by ${exit.signal ?? exit.code}`;
}

/** Members of the group may outlive its first process, so the group is told even when that one has ended. */
function sendToGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal);
  } catch (error) {
    // Nobody of the group is left.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
