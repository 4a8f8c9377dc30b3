/**
 * Loaded into each child of a node-controller before its program (`node --import`), so that no child outlives it, whatever the
 * program does. The end of the channel to the supervisor is a SIGTERM to this process: the program drains as it always does.
 * A thread beside it, which no busy main loop holds up, kills what has not ended in time.
 *
 * An agent is also stopped where its supervisor says nothing for a while: a frozen one could not turn it off when the
 * controller beside it is elected.
 */
import { isMainThread, Worker } from "node:worker_threads";
import type { GuardOrder, WatchData } from "./orphan-watch.js";

const checkMs = 1_000;

if (isMainThread) guard(new URL(import.meta.url));

function guard(self: URL): void {
  // Processes that the program forks are its own affair; only this one belongs to the supervisor.
  const own = process.execArgv.indexOf(self.href);
  if (own > 0) process.execArgv.splice(own - 1, 2);
  const number = (name: string): number => Number(self.searchParams.get(name));
  const data: WatchData = {
    supervisor: number("supervisor"),
    graceMs: number("grace_ms"),
    withGroup: self.searchParams.get("child") === "agent",
  };
  const watch = new Worker(new URL("./orphan-watch.js", self), { workerData: data, execArgv: [], stdin: false });
  watch.unref();
  let isStopping = false;
  const stop = (): void => {
    if (isStopping) return;
    isStopping = true;
    watch.postMessage({ kind: "stop" } satisfies GuardOrder);
    process.kill(process.pid, "SIGTERM");
  };
  process.once("disconnect", stop);
  const silenceMs = number("silence_ms");
  if (silenceMs > 0) expectWords(silenceMs, stop);
  // The program ends when it has nothing left to do, supervised or not.
  process.channel?.unref();
  if (!process.connected || process.ppid !== data.supervisor) stop();
}

/** Silence is counted in checks and not by a clock: a machine that was suspended has heard nothing, and missed nothing. */
function expectWords(silenceMs: number, stop: () => void): void {
  let silentChecks = 0;
  process.on("message", () => {
    silentChecks = 0;
  });
  setInterval(() => {
    silentChecks += 1;
    if (silentChecks * checkMs > silenceMs) stop();
  }, checkMs).unref();
}
