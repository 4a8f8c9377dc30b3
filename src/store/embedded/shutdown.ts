import type { Exit, Launched } from "./launch.js";

export type StopMode = "smart" | "fast" | "immediate";

export interface ShutdownStep {
  readonly mode: StopMode;
  readonly signal: NodeJS.Signals;
  readonly graceMs: number;
}

/**
 * From the gentlest to the harshest, with the time that each gets. Nothing is lost by a harsher one: what has committed is
 * recovered at the next start. "fast" is kept short, because PostgreSQL 18.4, asked for it during the recovery that follows the
 * kill of a session, often waits for its checkpointer for good without telling it to end.
 */
const ladder: readonly ShutdownStep[] = [
  { mode: "smart", signal: "SIGTERM", graceMs: 60_000 },
  { mode: "fast", signal: "SIGINT", graceMs: 10_000 },
  { mode: "immediate", signal: "SIGQUIT", graceMs: 10_000 },
];

/** Resolves when the server's process is gone. */
export async function shutDown(
  { child, exited }: Launched,
  mode: StopMode,
  steps: readonly ShutdownStep[] = ladder,
): Promise<void> {
  // While it waits, the process must not end for want of anything else to do.
  child.ref();
  for (const { signal, graceMs } of steps.slice(steps.findIndex((step) => step.mode === mode))) {
    child.kill(signal);
    if (await exitsWithin(exited, graceMs)) return;
  }
  child.kill("SIGKILL");
  await exited;
}

async function exitsWithin(exited: Promise<Exit>, timeoutMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs);
  });
  try {
    return await Promise.race([exited.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
