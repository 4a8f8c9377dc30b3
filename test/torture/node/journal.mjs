import { openSync, writeSync } from "node:fs";

/** CLOCK_MONOTONIC in milliseconds, which all processes of a machine share, and which faketime leaves alone. */
export const now = () => Number(process.hrtime.bigint()) / 1e6;

/** What this process has to tell. Each line is with the kernel when `tell` returns, so a SIGKILL loses none. */
export function openJournal(path, by) {
  const file = openSync(path, "a");
  return {
    tell: (event) => void writeSync(file, `${JSON.stringify({ by, at: now(), ...event })}\n`),
    rejected: (code) => void writeSync(file, `${JSON.stringify({ by, at: now(), kind: "rejection", code })}\n`),
  };
}

/** "refused" is a claim that it will never be done; only a lost reply leaves it open. */
export function outcomeOf(error) {
  const code = codeOf(error);
  return { outcome: code === "UNKNOWN_OUTCOME" ? "unknown" : "refused", code };
}

export function codeOf(error) {
  return String(error?.code ?? error?.name ?? error);
}
