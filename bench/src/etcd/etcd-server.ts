import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { atTheEnd } from "../cleanup.js";
import { freePorts } from "../free-ports.js";
import { EtcdClient } from "./etcd-client.js";

const patienceMs = 30_000;
const lookMs = 20;

/** One member with the settings it comes with, durable as PostgreSQL is. A cluster of three would wait for each other, too. */
export async function startEtcd(): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), "holdfast-bench-etcd-"));
  atTheEnd(() => rm(dataDir, { recursive: true, force: true }));
  const [client, peer] = (await freePorts(2)).map((port) => `http://127.0.0.1:${port}`);
  if (client === undefined || peer === undefined) throw new Error("there are no free ports");
  const options = {
    "data-dir": dataDir,
    "listen-client-urls": client,
    "advertise-client-urls": client,
    "listen-peer-urls": peer,
    "initial-advertise-peer-urls": peer,
    "initial-cluster": `default=${peer}`,
  };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  const child = spawnEtcd(args);
  atTheEnd(() => void child.kill("SIGKILL"));
  await isUp(client, child);
  return client;
}

/** Where the system can, it ends the server with this process, however that ends. */
function spawnEtcd(args: readonly string[]): ChildProcess {
  if (process.platform !== "linux") return spawn("etcd", args, { stdio: "ignore" });
  return spawn("setpriv", ["--pdeathsig", "KILL", "etcd", ...args], { stdio: "ignore" });
}

async function isUp(url: string, child: ChildProcess): Promise<void> {
  let failure: Error | null = null;
  child.once("error", (error) => {
    failure = error;
  });
  child.once("exit", (code) => {
    failure = new Error(`it ended with code ${code}`);
  });
  const etcd = new EtcdClient(url);
  const until = performance.now() + patienceMs;
  while (!(await etcd.isHealthy())) {
    if (failure !== null)
      throw new Error(`etcd cannot be run (${(failure as Error).message}): is etcd-server installed?`);
    if (performance.now() > until) throw new Error(`etcd was not up within ${patienceMs / 1000} s`);
    await pause(lookMs);
  }
}
