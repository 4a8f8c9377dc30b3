import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { withClient } from "../support/postgres.js";

const root = join(import.meta.dirname, "../..");
const patienceMs = 25_000;

/** An example, run as its user would run it. Disposing kills it. */
export interface ExampleProcess extends AsyncDisposable {
  readonly pid: number;
  /** Every line of its output so far. */
  readonly lines: readonly string[];
  /** Resolves with the first line that matches, also one that has already been. */
  line(pattern: RegExp): Promise<RegExpMatchArray>;
  signal(name: NodeJS.Signals): void;
  /** Sends the signal and resolves when the process has ended. */
  end(name: NodeJS.Signals): Promise<void>;
}

export function startExample(name: string, ...args: readonly string[]): ExampleProcess {
  const child = spawn(process.execPath, [join(root, "examples", `${name}.mjs`), ...args], {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on("line", (line) => lines.push(line));
  }
  const exited = once(child, "exit");
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (!hasEnded(child)) child.kill(signal);
    await exited;
  };
  return {
    pid: child.pid ?? 0,
    lines,
    async line(pattern) {
      const find = () => lines.map((line) => line.match(pattern)).find((match) => match !== null);
      return await eventually(find, () => `${name} printed no ${pattern}, but:\n${lines.join("\n")}`);
    },
    signal(signal) {
      child.kill(signal);
    },
    end,
    [Symbol.asyncDispose]: () => end("SIGKILL"),
  };
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** Looks again and again, with short pauses, until there is something to see. */
export async function eventually<T>(
  look: () => Promise<T | undefined> | T | undefined,
  complain: () => string,
): Promise<T> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > deadline) throw new Error(complain());
    await pause(10);
  }
}

/** What a process has printed so far. */
interface Printing {
  readonly lines: readonly string[];
}

export interface Leader<Replica extends Printing> {
  readonly replica: Replica;
  readonly epoch: number;
}

/** The replica that says it leads, under an epoch above the one given. */
export async function nextLeader<Replica extends Printing>(
  replicas: readonly Replica[],
  above = 0,
): Promise<Leader<Replica>> {
  const look = (): Leader<Replica> | undefined => {
    for (const replica of replicas) {
      const epochs = replica.lines.flatMap((line) => line.match(/^leading under epoch (\d+)$/)?.[1] ?? []);
      const epoch = Number(epochs.at(-1) ?? 0);
      if (epoch > above) return { replica, epoch };
    }
    return undefined;
  };
  return await eventually(
    look,
    () => `nobody leads above epoch ${above}:\n${replicas.map((replica) => replica.lines.join("\n")).join("\n---\n")}`,
  );
}

/** Resolves when a standby waits for the leader's lock. From then on a crash of the leader takes milliseconds to notice. */
export async function heirWaits(url: string): Promise<void> {
  await withClient(url, (client) =>
    eventually(
      async () => {
        const { rows } = await client.query(
          `select from pg_stat_activity where datname = current_database()
             and application_name like 'holdfast campaign %' and wait_event = 'advisory'`,
        );
        return rows.length > 0 ? true : undefined;
      },
      () => "no standby became the heir",
    ),
  );
}
