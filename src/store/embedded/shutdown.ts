import type { Exit, Launched } from "./launch.js";

export type StopMode = "smart" | "fast" | "immediate";

/** From the gentlest to the harshest, with the time that each gets. A killed server recovers at its next start. */
const ladder = [
  { mode: "smart", signal: "SIGTERM", graceMs: 60_000 },
  { mode: "fast", signal: "SIGINT", graceMs: 60_000 },
  { mode: "immediate", signal: "SIGQUIT", graceMs: 10_000 },
] as const satisfies readonly { mode: StopMode; signal: NodeJS.Signals; graceMs: number }[];

/** Resolves when the server's process is gone. */
export async function shutDown({ child, exited }: Launched, mode: StopMode): Promise<void> {
  // While it waits, the process must not end for want of anything else to do.
  child.ref();
  for (const { signal, graceMs } of ladder.slice(ladder.findIndex((step) => step.mode === mode))) {
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
