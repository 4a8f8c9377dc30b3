import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A wall clock that can be stepped while a process runs; its monotonic clock stays true. */
export interface FakeClock extends AsyncDisposable {
  /** For the process that shall live by it. */
  readonly env: Readonly<Record<string, string>>;
  /** "+3600": an hour ahead of the true time from now on. */
  step(seconds: string): Promise<void>;
}

/** How soon a step is seen: at the very next look, for which each look reads a file, or within a second. */
export async function startFakeClock(seen: "at once" | "within a second" = "at once"): Promise<FakeClock> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-clock-"));
  const file = join(folder, "offset");
  await writeFile(file, "+0");
  const preload = preloadOf();
  return {
    env: {
      LD_PRELOAD: preload,
      FAKETIME_TIMESTAMP_FILE: file,
      ...(seen === "at once" ? { FAKETIME_NO_CACHE: "1" } : { FAKETIME_CACHE_DURATION: "1" }),
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
      DONT_FAKE_MONOTONIC: "1",
    },
    step: (seconds) => writeFile(file, seconds),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

const mostTries = 5;

/** The library that faketime puts before others. It names a semaphore by its process id, and one of a dead process may have that name. */
function preloadOf(): string {
  for (let tries = 1; ; tries += 1) {
    const { status, stdout, stderr } = spawnSync("faketime", ["-f", "+0", "env"], { encoding: "utf8" });
    const line = (stdout ?? "").split("\n").find((one) => one.startsWith("LD_PRELOAD="));
    if (status === 0 && line !== undefined) return line.slice("LD_PRELOAD=".length);
    if (tries === mostTries) throw new Error(`faketime does not run: ${stderr ?? "it is not there"}`);
  }
}
