import { type ChildProcess, spawn } from "node:child_process";
import { Readable } from "node:stream";
import { within } from "../lifecycle/within.js";
import type { ChildPlan } from "./child-plan.js";
import type { ChildName, Exit } from "./core/messages.js";

export interface RunningChild {
  readonly pid: number | null;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves when it is gone; never rejects. */
  readonly exited: Promise<Exit & { readonly error?: Error }>;
  onMessage(listener: (message: unknown) => void): void;
  /** Nothing where it is gone. */
  send(signal: "SIGTERM" | "SIGKILL"): void;
}

/** A grandchild may hold the output of a dead child open: nobody waits for it for longer. */
const outputPatienceMs = 500;
/** Well below what a child takes for silence. */
const aliveMs = 1_000;

/** Starts a child that ends with this process, however that ends: see child-guard.ts. */
export function startChild(plan: ChildPlan): RunningChild {
  let child: ChildProcess;
  try {
    child = spawn(process.execPath, [...nodeOptions(), "--import", guardUrl(plan), ...plan.words], {
      cwd: plan.cwd,
      env: plan.env,
      // A session of its own keeps the terminal's Ctrl-C away: it would be the first of two signals.
      detached: true,
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      serialization: "json",
    });
  } catch (error) {
    // Short of memory, or without its folder.
    return neverStarted(Promise.resolve(error as Error));
  }
  const { stdout, stderr } = child;
  // Short of descriptors there are none, and the error comes behind.
  if (!stdout || !stderr) return neverStarted(new Promise((resolve) => child.once("error", resolve)));
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const exited = new Promise<Exit & { readonly error?: Error }>((resolve) => {
    child.once("error", (error) => resolve({ code: null, signal: null, error }));
    child.once("exit", (code, signal) => {
      // Also of an agent that ended by itself nothing works on.
      if (plan.child === "agent" && child.pid !== undefined) killGroup(child.pid);
      void within(outputPatienceMs, closed).then(() => resolve({ code, signal }));
    });
  });
  // A channel that breaks belongs to a child that ends, and its end is told.
  child.on("error", () => undefined);
  if (plan.silenceMs > 0) tellAlive(child);
  return {
    pid: child.pid ?? null,
    stdout,
    stderr,
    exited,
    onMessage: (listener) => child.on("message", listener),
    send: (signal) => send(child, signal, plan.child),
  };
}

/** Ends with the error, and is tried again as one that ended. */
function neverStarted(failed: Promise<Error>): RunningChild {
  return {
    pid: null,
    stdout: Readable.from([]),
    stderr: Readable.from([]),
    exited: failed.then((error) => ({ code: null, signal: null, error })),
    onMessage: () => undefined,
    send: () => undefined,
  };
}

function send(child: ChildProcess, signal: "SIGTERM" | "SIGKILL", name: ChildName): void {
  if (signal === "SIGTERM") {
    child.kill("SIGTERM");
    // One that is frozen hears nothing before it is woken.
    child.kill("SIGCONT");
  } else if (name === "controller" || child.pid === undefined || child.exitCode !== null || child.signalCode !== null) {
    // The embedded server, where there is one, notices the end of its owner by itself, and ends cleanly.
    child.kill("SIGKILL");
  } else killGroup(child.pid);
}

/** The agent, and what its operations have started. */
function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    // Nobody of it is there, or, where a system says so in this way, nobody who is not dying already.
    if (!["ESRCH", "EPERM"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}

function guardUrl({ child, graceMs, silenceMs }: ChildPlan): string {
  const url = new URL("./child-guard.js", import.meta.url);
  url.searchParams.set("child", child);
  url.searchParams.set("supervisor", String(process.pid));
  url.searchParams.set("grace_ms", String(graceMs));
  url.searchParams.set("silence_ms", String(silenceMs));
  return url.href;
}

/** What this process was started with holds for its children: limits of memory, certificates. Only one can be debugged at a port. */
function nodeOptions(): readonly string[] {
  return process.execArgv.filter((option) => !option.startsWith("--inspect"));
}

function tellAlive(child: ChildProcess): void {
  let isUnderWay = false;
  const timer = setInterval(() => {
    // A frozen child reads nothing: words to it would only pile up.
    if (isUnderWay || !child.connected) return;
    isUnderWay = true;
    child.send({ kind: "alive" }, () => {
      isUnderWay = false;
    });
  }, aliveMs);
  child.once("exit", () => clearInterval(timer));
}
