import { fileURLToPath } from "node:url";
import type { ChildName } from "../../src/supervisor/core/messages.js";
import { clearAway, processesIn } from "./demo-process.js";
import { makeTestDirectory } from "./postgres.js";
import { ServeProcess, type ServeSettings } from "./serve-process.js";

const agentProgram = fileURLToPath(new URL("./stand-in-agent.mjs", import.meta.url));

/** One line of its log, or of its children's. */
export interface LogLine {
  readonly time: number;
  readonly msg: string;
  readonly child?: ChildName;
  readonly child_pid?: number;
  readonly words?: readonly string[];
  readonly token?: string | null;
  readonly settings?: readonly string[];
}

export interface SuperviseOptions {
  readonly settings: ServeSettings;
  readonly agent?: "obeys" | "stubborn" | "crashes";
  readonly env?: Readonly<Record<string, string>>;
}

/** `holdfast supervise` with a stand-in for its agent, in a directory of its own. Disposing leaves no process of it. */
export class SuperviseProcess implements AsyncDisposable {
  readonly served: ServeProcess;
  readonly directory: string;

  private constructor(served: ServeProcess, directory: string) {
    this.served = served;
    this.directory = directory;
  }

  /** Resolves when its controller answers. */
  static async start({ settings, agent = "obeys", env = {} }: SuperviseOptions): Promise<SuperviseProcess> {
    const directory = await makeTestDirectory();
    const served = await ServeProcess.start({
      command: "supervise",
      settings: { "supervisor.moonlight": true, ...settings },
      args: ["--ops", ".", "--agent-program", agentProgram],
      env: { STAND_IN_AGENT: agent, ...env },
      cwd: directory,
    });
    return new SuperviseProcess(served, directory);
  }

  get lines(): readonly LogLine[] {
    const whole = this.served.output.split("\n").slice(0, -1);
    return whole.map((line) => JSON.parse(line) as LogLine);
  }

  /** Every start of a child so far. */
  starts(child: ChildName): readonly LogLine[] {
    return this.lines.filter((line) => line.child === child && line.msg === `the ${child} starts`);
  }

  /** Of the process that was started last. */
  pidOf(child: ChildName): number {
    const pid = this.starts(child).at(-1)?.child_pid;
    if (pid === undefined) throw new Error(`There was no ${child} yet:\n${this.served.output}`);
    return pid;
  }

  /** What is there of it now, itself included. */
  get processes(): readonly number[] {
    return processesIn(this.directory).map(({ pid }) => pid);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.served[Symbol.asyncDispose]();
    await clearAway(this.directory);
  }
}
