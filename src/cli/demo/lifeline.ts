import { execFile } from "node:child_process";
import { promisify } from "node:util";

/**
 * What ends a node when the demo dies without a word. The signal is SIGKILL, because a node that the demo froze would hear no
 * other. On Linux the kernel sends it; elsewhere a shell beside the node waits on a pipe that only a living demo holds open.
 */
export type Lifeline = "kernel" | "guardian";

export async function chooseLifeline(): Promise<Lifeline> {
  if (process.platform !== "linux") return "guardian";
  try {
    await promisify(execFile)("setpriv", ["--pdeathsig", "KILL", "--", "true"]);
    return "kernel";
  } catch {
    // Not installed, or busybox's, which does not know the option.
    return "guardian";
  }
}

/** The file descriptor at which the guardian's end of the pipe is expected. */
export const guardianFd = 3;

// The kernel tells nothing of a parent that was gone before it was asked to, so the shell looks for that itself.
const orphanCheck = '[ "$PPID" = "$1" ] || exit 1; shift; exec "$@"';
// A line on the pipe dismisses the guardian; the end of the pipe without one means that the demo died.
const guardian = `(read -r _ <&${guardianFd} || kill -KILL $$) & exec "$@" ${guardianFd}<&-`;

/** The words to put before a command so that it ends with this process. It keeps the pid that it is started with. */
export function lifelineCommand(lifeline: Lifeline): readonly string[] {
  return lifeline === "kernel"
    ? ["setpriv", "--pdeathsig", "KILL", "--", "/bin/sh", "-c", orphanCheck, "sh", String(process.pid)]
    : ["/bin/sh", "-c", guardian, "sh"];
}
