import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, statSync } from "node:fs";
import type { Duplex } from "node:stream";
import { fileURLToPath } from "node:url";
import { errorCodes, HoldfastError } from "../../errors.js";
import { within } from "../../lifecycle/within.js";
import { oneLine } from "../paint.js";
import { guardianFd, type Lifeline, lifelineCommand } from "./lifeline.js";

export interface NodeProcessOptions {
  readonly id: string;
  readonly env: Readonly<Record<string, string>>;
  /** Where no holdfast.toml of the user's is found. */
  readonly cwd: string;
  /** What it writes is added to this file. */
  readonly logPath: string;
  readonly lifeline: Lifeline;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Why the program could not even be started. */
  readonly error?: Error;
}

const program = fileURLToPath(new URL("../main.js", import.meta.url));
const longestTail = 65_536;

/** `holdfast serve` as a child of this process, which does not outlive it. */
export class NodeProcess {
  readonly id: string;
  readonly pid: number;
  readonly exited: Promise<Exit>;
  private readonly child: ChildProcess;
  private readonly logPath: string;
  private readonly logStart: number;

  constructor({ id, env, cwd, logPath, lifeline }: NodeProcessOptions) {
    const log = openSync(logPath, "a", 0o600);
    this.id = id;
    this.logPath = logPath;
    this.logStart = statSync(logPath).size;
    try {
      const [first, ...rest] = [...lifelineCommand(lifeline), process.execPath, program, "serve"];
      this.child = spawn(first, rest, {
        cwd,
        env,
        // A session of its own keeps the terminal's Ctrl-C away: the demo decides when and how its nodes stop.
        detached: true,
        stdio: ["ignore", log, log, lifeline === "guardian" ? "pipe" : "ignore"],
      });
    } finally {
      closeSync(log);
    }
    this.pid = this.child.pid ?? 0;
    this.exited = new Promise((resolve) => {
      this.child.once("exit", (code, signal) => resolve({ code, signal }));
      this.child.once("error", (error) => resolve({ code: null, signal: null, error }));
    });
    this.dismissGuardianAtExit();
  }

  private dismissGuardianAtExit(): void {
    const pipe = this.child.stdio[guardianFd] as Duplex | null | undefined;
    if (!pipe) return;
    // The guardian ends together with the node at times, and then nobody reads the line. That is as good.
    pipe.on("error", () => pipe.destroy());
    void this.exited.then(() => pipe.end("\n"));
  }

  /** Nothing where the process is gone. */
  send(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Lets it drain, bounded; a frozen one is woken for it. */
  async stop(graceMs: number): Promise<void> {
    this.send("SIGTERM");
    this.send("SIGCONT");
    const gone = this.exited.then(() => undefined);
    await within(graceMs, gone, () => this.send("SIGKILL"));
    await gone;
  }

  /** Why it ended, as it said itself. */
  failure({ code, signal, error }: Exit): HoldfastError {
    const line = this.lines().findLast((each) => each.startsWith("holdfast: "));
    const [, message = "", its = ""] = /^holdfast: (.*) \[([A-Z_]+)\]$/.exec(line ?? "") ?? [];
    if (message !== "") {
      const known = errorCodes.find((each) => each === its) ?? "INTERNAL";
      return new HoldfastError(known, `${this.id} did not start: ${message}`);
    }
    const how = error?.message ?? describeExit({ code, signal });
    return new HoldfastError("INTERNAL", `${this.id} did not start (${how}): see ${this.logPath}.`);
  }

  private lines(): readonly string[] {
    const text = readFileSync(this.logPath).subarray(this.logStart).subarray(-longestTail).toString("utf8");
    return text.split("\n").map(oneLine);
  }
}

export function describeExit({ code, signal, error }: Exit): string {
  if (error !== undefined) return oneLine(error.message);
  return signal ?? `exit code ${code}`;
}
