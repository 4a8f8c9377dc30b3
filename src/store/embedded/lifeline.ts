import { execFile } from "node:child_process";
import { promisify } from "node:util";

/**
 * What stops the server when the process that started it dies without a word. On Linux the kernel sends the signal; elsewhere a
 * shell beside the server waits on a pipe that only a living parent holds open.
 *
 * The signal is SIGQUIT, PostgreSQL's immediate shutdown: what has committed is recovered at the next start. The gentler SIGINT,
 * when it comes during a recovery, left PostgreSQL 18.4 running for good in about half of the tries.
 *
 * The kernel's variant watches the *thread* that started the server: started from a worker thread, it stops with that thread.
 */
export type Lifeline = "kernel" | "guardian";

export async function chooseLifeline(): Promise<Lifeline> {
  if (process.platform !== "linux") return "guardian";
  try {
    await promisify(execFile)("setpriv", ["--pdeathsig", "QUIT", "--", "true"]);
    return "kernel";
  } catch {
    // Not installed, or busybox's, which does not know the option.
    return "guardian";
  }
}

/** The file descriptor at which the guardian's end of the pipe is expected. */
export const guardianFd = 3;

// The shell becomes the server, so the pid that we know is the server's. A line on the pipe dismisses the guardian; the end of
// the pipe without one means that the parent died.
const guardian = `(read -r _ <&${guardianFd} || kill -QUIT $$) & exec "$@" ${guardianFd}<&-`;

/** The words to put before a command so that it ends with its parent. */
export function lifelineCommand(lifeline: Lifeline): readonly string[] {
  return lifeline === "kernel" ? ["setpriv", "--pdeathsig", "QUIT", "--"] : ["/bin/sh", "-c", guardian, "sh"];
}
