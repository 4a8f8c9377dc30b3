import { execFile } from "node:child_process";
import { arch, cpus, loadavg, platform, release, totalmem } from "node:os";
import { promisify } from "node:util";
import type { Result } from "./result.js";

/** One run, as `--json` prints it and `--out` writes it. */
export interface Report {
  readonly bench: string;
  readonly machine: string;
  readonly at: string;
  /** What was measured, where that can be told. */
  readonly commit: string | null;
  /** Where a trial was asked for: so few rounds and messages, or so short a soak. */
  readonly trial: {
    readonly rounds: number | null;
    readonly messages: number | null;
    readonly minutes: number | null;
  } | null;
  readonly seconds: number;
  readonly results: readonly (Result & { readonly bench?: string })[];
  /** Of a soak: points of [minute, value] by name. */
  readonly curves?: Readonly<Record<string, readonly (readonly [number, number])[]>>;
  /** Benches that did not come to their end, and why. */
  readonly errors: readonly { readonly bench: string; readonly message: string }[];
}

export function passed({ results, errors }: Report): boolean {
  return errors.length === 0 && results.every(({ met }) => met);
}

export async function commitOf(folder: string): Promise<string | null> {
  try {
    const { stdout } = await promisify(execFile)("git", ["describe", "--always", "--dirty", "--abbrev=10"], {
      cwd: folder,
    });
    return stdout.trim();
  } catch {
    return null;
  }
}

/** The load says how quiet the machine was when the run began. */
export function describeMachine(): string {
  const processors = cpus();
  return [
    `${processors.length} x ${processors[0]?.model.trim() ?? "unknown processor"}`,
    `${Math.round(totalmem() / 2 ** 30)} GiB`,
    `${platform()} ${release()} ${arch()}`,
    `Node ${process.versions.node}`,
    `load ${(loadavg()[0] ?? 0).toFixed(1)} at the start`,
  ].join(", ");
}
