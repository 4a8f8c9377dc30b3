import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, closeSync, copyFileSync, existsSync, openSync, readFileSync } from "node:fs";
import { mkdir, rm, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { findBinaries } from "../../src/store/embedded/binaries.js";
import { type Settings, writeConfiguration } from "../../src/store/embedded/configuration.js";
import { readPidFile } from "../../src/store/embedded/pid-file.js";
import { namespaceCommand } from "../../src/store/embedded/run-as.js";
import type { StopMode } from "../../src/store/embedded/shutdown.js";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { administratorEnv, isRoot } from "../support/programs.js";
import { certificate } from "./certificate.js";
import type { Host } from "./network.js";

const deadlineMs = 60_000;
const sizeMegabytes = 1536;
const signals: Readonly<Record<StopMode, NodeJS.Signals>> = { smart: "SIGTERM", fast: "SIGINT", immediate: "SIGQUIT" };

const defaults: Settings = {
  max_connections: "120",
  shared_buffers: "96MB",
  max_wal_size: "256MB",
  wal_retrieve_retry_interval: "100ms",
  // Off this machine's loopback nodes speak TLS with it, or not at all.
  ssl: "on",
  // A walsender that waits for a replica which is cut off must not hold up a fast stop.
  wal_sender_timeout: "5s",
};

export interface ServerPlace {
  readonly host: Host;
  readonly folder: string;
  readonly port: number;
  /** Whether its directory is a small file system of its own, which can be filled up. */
  readonly ownDisk: boolean;
}

/** One PostgreSQL server at its host. It ends with this process, however that ends. */
export class DatabaseServer implements AsyncDisposable {
  readonly host: Host;
  readonly folder: string;
  readonly port: number;
  readonly pgdata: string;
  private readonly ownDisk: boolean;
  private settings: Settings = defaults;
  private child: ChildProcess | null = null;
  private ended: Promise<unknown> = Promise.resolve();

  private constructor({ host, folder, port, ownDisk }: ServerPlace) {
    this.host = host;
    this.folder = folder;
    this.port = port;
    this.ownDisk = ownDisk;
    this.pgdata = join(folder, "data");
  }

  /** With its directory and nothing in it. */
  static async make(place: ServerPlace): Promise<DatabaseServer> {
    const server = new DatabaseServer(place);
    await mkdir(place.folder, { recursive: true, mode: 0o755 });
    if (place.ownDisk) run("mount", "-t", "tmpfs", "-o", `size=${sizeMegabytes}m`, "tmpfs", place.folder);
    return server;
  }

  initialize(): void {
    const { initdb } = findBinaries();
    const locale = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"];
    const args = ["-D", this.pgdata, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", "--no-instructions"];
    run(...asNobody, initdb, ...args, ...locale);
    copyFileSync(certificate.crt, join(this.pgdata, "server.crt"));
    copyFileSync(certificate.key, join(this.pgdata, "server.key"));
    chmodSync(join(this.pgdata, "server.key"), 0o600);
  }

  /** By its own address, or by another that leads there. */
  url(address: string = this.host.address, user = "postgres"): string {
    return `postgres://${user}:${user}@${address}:${this.port}/torture`;
  }

  get isRunning(): boolean {
    return this.child !== null;
  }

  get pid(): number {
    return this.child?.pid ?? 0;
  }

  /** Settings given here are added to those of before. Resolves when it answers, as a primary or as a replica. */
  async start(added: Settings = {}, listen = "0.0.0.0"): Promise<void> {
    await this.configure(added);
    await writeFile(
      join(this.pgdata, "pg_hba.conf"),
      "host all all 0.0.0.0/0 trust\nhost replication all 0.0.0.0/0 trust\n",
    );
    const deadline = performance.now() + deadlineMs;
    while (!(await this.startOnce(listen))) {
      // Sessions outlive a killed server by a moment, and PostgreSQL does not start beside them.
      if (performance.now() > deadline || !this.log().includes("pre-existing shared memory block"))
        throw new Error(`The database at ${this.host.name} did not start:\n${this.log()}`);
    }
  }

  private async startOnce(listen: string): Promise<boolean> {
    const { postgres } = findBinaries();
    const fixed = { listen_addresses: listen, port: String(this.port), unix_socket_directories: "" };
    const options = Object.entries(fixed).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const lifeline = ["setpriv", "--pdeathsig", "QUIT", "--"];
    const [program = "", ...args] = this.host.enter([
      ...asNobody,
      ...lifeline,
      postgres,
      "-D",
      this.pgdata,
      ...options,
    ]);
    const log = openSync(join(this.folder, "log"), "w");
    const child = spawn(program, args, {
      cwd: this.folder,
      detached: true,
      env: { PATH: process.env.PATH, LC_ALL: "C", TZ: "UTC" },
      stdio: ["ignore", log, log],
    });
    closeSync(log);
    this.child = child;
    this.ended = once(child, "exit").finally(() => {
      if (this.child === child) this.child = null;
    });
    const ready = () => {
      const file = readPidFile(this.pgdata);
      return file?.pid === child.pid && (file?.status === "ready" || file?.status === "standby");
    };
    await waitUntil(() => this.child !== child || ready(), deadlineMs);
    return this.child === child && ready();
  }

  /** Takes effect at once, but for what needs a start. */
  async configure(added: Settings): Promise<void> {
    this.settings = { ...this.settings, ...added };
    await writeConfiguration(this.pgdata, this.settings);
    this.child?.kill("SIGHUP");
  }

  async stop(mode: StopMode): Promise<void> {
    this.child?.kill(signals[mode]);
    const stopped = await Promise.race([this.ended.then(() => true), waitUntil(() => this.child === null, 10_000)]);
    if (!stopped) await this.stop("immediate");
  }

  /** SIGKILL of the main process: its sessions end as soon as they notice. */
  async kill(): Promise<void> {
    this.child?.kill("SIGKILL");
    await this.ended;
  }

  /** Of the main process and all of its sessions and helpers; those that are gone meanwhile are passed over. */
  signalAll(signal: NodeJS.Signals): void {
    if (this.child?.pid === undefined) return;
    const children = readFileSync(`/proc/${this.child.pid}/task/${this.child.pid}/children`, "utf8");
    for (const pid of [...children.trim().split(" "), String(this.child.pid)]) {
      try {
        process.kill(Number(pid), signal);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
    }
  }

  /** Hardly a byte is left on its disk, until `emptyDisk`. */
  async fillDisk(): Promise<void> {
    for (let spared = 0; ; spared += 65_536) {
      const { bavail, bsize } = await statfs(this.folder);
      try {
        return run("fallocate", "-l", String(Math.max(bavail * bsize - spared, 1)), join(this.folder, "filler"));
      } catch (error) {
        // The server took some of it between the two. What it leaves for long is soon used up.
        if (spared > 2 ** 20) throw error;
      }
    }
  }

  async emptyDisk(): Promise<void> {
    await rm(join(this.folder, "filler"), { force: true });
  }

  log(): string {
    const path = join(this.folder, "log");
    return existsSync(path) ? readFileSync(path, "utf8").slice(-4_000) : "";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.signalAll("SIGCONT");
    await this.stop("immediate");
    // Sessions may still be on their way out of a directory that is a mount.
    if (this.ownDisk) run("umount", "--lazy", this.folder);
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

const asNobody: readonly string[] = isRoot ? namespaceCommand : [];

function run(...command: readonly string[]): void {
  const [program = "", ...args] = command;
  execFileSync(program, args, { env: administratorEnv, stdio: ["ignore", "ignore", "pipe"] });
}
