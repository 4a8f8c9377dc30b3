import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmod, copyFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { repositoryRoot } from "./demo-process.js";
import { makeTestDirectory } from "./postgres.js";
import { administratorEnv } from "./programs.js";

const floating = "10.0.0.100/24";
/** keepalived runs no script that others may write to. */
const writtenByOwner = 0o755;
const endsWithinMs = 5_000;

/** What a node answers to `GET /role`, as leader while a file is there. */
const standIn = `
import { existsSync } from "node:fs";
import { createServer } from "node:http";
createServer((request, response) => {
  response.end(JSON.stringify({ node_id: "x", role: existsSync(process.argv[2]) ? "LEADER" : "STANDBY" }));
}).listen(7400, "127.0.0.1");
`;

/** Two machines with a network between them, made of namespaces. On each runs keepalived with the guide's files, beside a node. */
export interface FloatingAddress extends AsyncDisposable {
  /** Who leads from now on, by the number of its machine, or nobody. */
  lead(machine: number | null): Promise<void>;
  /** Which machines have the address at this moment. */
  holders(): readonly number[];
  /** Resolves with true when exactly this machine has the address. */
  isAt(machine: number): Promise<boolean>;
}

export async function startKeepalived(): Promise<FloatingAddress> {
  const network = new MachineNetwork(await makeTestDirectory());
  try {
    await network.setUp();
    return network;
  } catch (error) {
    await network[Symbol.asyncDispose]();
    throw error;
  }
}

const numbers = [1, 2] as const;

class MachineNetwork implements FloatingAddress {
  private readonly folder: string;
  private readonly prefix = `keepalived-${randomBytes(4).toString("hex")}`;
  /** Those that were made. */
  private readonly machines: string[] = [];
  private readonly started: ChildProcess[] = [];

  constructor(folder: string) {
    this.folder = folder;
  }

  async setUp(): Promise<void> {
    for (const name of ["keepalived.conf", "holdfast-leads.sh"]) {
      await copyFile(join(repositoryRoot, "examples/deploy", name), join(this.folder, name));
    }
    await writeFile(join(this.folder, "node.mjs"), standIn);
    for (const name of ["", "holdfast-leads.sh"]) await chmod(join(this.folder, name), writtenByOwner);
    for (const number of numbers) {
      ip("netns", "add", this.machine(number));
      this.machines.push(this.machine(number));
    }
    const [first, second] = [this.machine(1), this.machine(2)];
    ip("link", "add", "eth0", "netns", first, "type", "veth", "peer", "name", "eth0", "netns", second);
    for (const number of numbers) this.startMachine(number);
  }

  async lead(machine: number | null): Promise<void> {
    for (const number of numbers) await rm(this.flag(number), { force: true });
    if (machine !== null) await writeFile(this.flag(machine), "");
  }

  holders(): readonly number[] {
    return numbers.filter((number) => ip("-n", this.machine(number), "addr", "show", "eth0").includes(floating));
  }

  async isAt(machine: number): Promise<boolean> {
    const there = (): boolean => this.holders().join() === String(machine);
    return await waitUntil(() => Promise.resolve(there()), 60_000);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.started.map(end));
    for (const machine of this.machines) ip("netns", "del", machine);
    await rm(this.folder, { recursive: true, force: true });
  }

  private machine(number: number): string {
    return `${this.prefix}-${number}`;
  }

  private flag(number: number): string {
    return join(this.folder, `leads-${number}`);
  }

  private startMachine(number: number): void {
    const machine = this.machine(number);
    for (const device of ["lo", "eth0"]) ip("-n", machine, "link", "set", device, "up");
    ip("-n", machine, "addr", "add", `10.0.0.${number}/24`, "dev", "eth0");
    this.start(machine, process.execPath, join(this.folder, "node.mjs"), this.flag(number));
    // The files are where the guide puts them, and each has a place of its own for its pid.
    const mounts = `mount --bind ${this.folder} /etc/keepalived && mount -t tmpfs none /run`;
    const keepalived = "exec keepalived --dont-fork --log-console -f /etc/keepalived/keepalived.conf";
    this.start(machine, "unshare", "--mount", "sh", "-c", `${mounts} && ${keepalived}`);
  }

  private start(machine: string, ...words: readonly string[]): void {
    this.started.push(spawn("ip", ["netns", "exec", machine, ...words], { env: administratorEnv, stdio: "ignore" }));
  }
}

function ip(...words: readonly string[]): string {
  return execFileSync("ip", words, { env: administratorEnv, encoding: "utf8" });
}

async function end(child: ChildProcess): Promise<void> {
  const ended = (): boolean => child.exitCode !== null || child.signalCode !== null;
  if (child.pid === undefined || ended()) return;
  child.kill("SIGTERM");
  if (await waitUntil(ended, endsWithinMs)) return;
  const killed = once(child, "exit");
  if (child.kill("SIGKILL")) await killed;
}
