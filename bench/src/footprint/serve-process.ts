import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { atTheEnd } from "../cleanup.js";
import { freePorts } from "../free-ports.js";
import { msBetween } from "../statistics.js";

const program = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));
const lookMs = 5;
const patienceMs = 60_000;

/** `holdfast serve` as people start it, in a cluster; with the moments from its start to its first answers. */
export interface ServeProcess {
  readonly pid: number;
  /** To the first answer of GET /role, and to the first that says it leads. */
  readonly answeredMs: number;
  readonly leadsMs: number;
  /** By SIGTERM, until it has ended. */
  stop(): Promise<void>;
}

export async function startServe(databaseUrl: string): Promise<ServeProcess> {
  // An empty folder, so that it finds no holdfast.toml.
  const cwd = await mkdtemp(join(tmpdir(), "holdfast-bench-serve-"));
  atTheEnd(() => rm(cwd, { recursive: true, force: true }));
  const [port = 0] = await freePorts(1);
  const env = {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("HOLDFAST_"))),
    HOLDFAST_STORE_BACKEND: "postgres",
    HOLDFAST_STORE_URL: databaseUrl,
    HOLDFAST_CLUSTER_ENABLED: "true",
    HOLDFAST_API_PORT: String(port),
    HOLDFAST_LOG_LEVEL: "error",
  };
  const from = process.hrtime.bigint();
  const child = spawn(process.execPath, [program, "serve"], { cwd, env, stdio: ["ignore", "ignore", "inherit"] });
  atTheEnd(() => void child.kill("SIGKILL"));
  const ended = new Promise<void>((resolve) => void child.once("exit", () => resolve()));
  const answeredMs = await firstAnswer(child, port, from, () => true);
  const leadsMs = await firstAnswer(child, port, from, ({ role }) => role === "LEADER");
  return {
    pid: child.pid ?? 0,
    answeredMs,
    leadsMs,
    stop: async () => {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

async function firstAnswer(
  child: ChildProcess,
  port: number,
  from: bigint,
  isWanted: (answer: { readonly role?: string }) => boolean,
): Promise<number> {
  for (;;) {
    const answer = await roleAt(port);
    const ms = msBetween(from, process.hrtime.bigint());
    if (answer !== null && isWanted(answer)) return ms;
    if (child.exitCode !== null) throw new Error(`holdfast serve ended with code ${child.exitCode}`);
    if (ms > patienceMs) throw new Error(`holdfast serve did not answer as wanted within ${patienceMs / 1000} s`);
    await pause(lookMs);
  }
}

async function roleAt(port: number): Promise<{ readonly role?: string } | null> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/role`, { headers: { connection: "close" } });
    return (await answer.json()) as { readonly role?: string };
  } catch {
    return null;
  }
}
