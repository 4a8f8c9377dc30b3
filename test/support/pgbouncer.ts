import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { freePort } from "./free-ports.js";
import { withClient } from "./postgres.js";
import { administratorEnv, isRoot } from "./programs.js";

export interface PgBouncer extends AsyncDisposable {
  /** The same database by way of the pooler. */
  through(url: string): string;
  /** All connections through it break, and it is there again, at the same address, when this resolves. */
  restart(): Promise<void>;
}

/** Where the pooler listens, and what a command must look like to be run there. */
export interface PoolerPlace {
  readonly address: string;
  /** Files of a key and a certificate, where clients may want TLS. */
  readonly tls?: { readonly key: string; readonly certificate: string };
  enter(command: readonly string[]): readonly string[];
}

const here: PoolerPlace = { address: "127.0.0.1", enter: (command) => command };

/** What the configuration of a pooler has to name. */
export interface PoolerAddresses {
  readonly place: PoolerPlace;
  readonly port: number;
  readonly serverHost: string;
  readonly serverPort: string;
  readonly authFile: string;
}

/** A PgBouncer before the server of this URL, in transaction mode unless another configuration is given. It ends with this process. */
export async function startPgBouncer(
  serverUrl: string,
  place: PoolerPlace = here,
  configuration: (addresses: PoolerAddresses) => string = transactionMode,
): Promise<PgBouncer> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-pgbouncer-"));
  const { hostname, port, username, password } = new URL(serverUrl);
  const ownPort = await freePort();
  const config = join(folder, "pgbouncer.ini");
  const authFile = join(folder, "users.txt");
  const addresses = { place, port: ownPort, serverHost: hostname, serverPort: port, authFile };
  await writeFile(config, configuration(addresses));
  await writeFile(authFile, `"${username}" "${decodeURIComponent(password)}"\n`);
  await chmod(folder, 0o755);
  let running = spawnPooler(place, config);
  const through = (url: string) => {
    const changed = new URL(url);
    changed.host = `${place.address}:${ownPort}`;
    return changed.href;
  };
  const end = async () => {
    running.child.kill("SIGKILL");
    await running.exited;
  };
  const stop = async () => {
    await end();
    await rm(folder, { recursive: true, force: true });
  };
  const restart = async () => {
    await end();
    running = spawnPooler(place, config);
  };
  const answers = await waitUntil(
    () =>
      withClient(through(serverUrl), (client) => client.query("SELECT 1")).then(
        () => true,
        () => false,
      ),
    15_000,
  );
  if (!answers) {
    await stop();
    throw new Error("PgBouncer does not answer");
  }
  return { through, restart, [Symbol.asyncDispose]: stop };
}

function tlsLines({ tls }: PoolerPlace): readonly string[] {
  if (tls === undefined) return [];
  const { key, certificate } = tls;
  return ["client_tls_sslmode = allow", `client_tls_key_file = ${key}`, `client_tls_cert_file = ${certificate}`];
}

function spawnPooler(place: PoolerPlace, config: string): { child: ChildProcess; exited: Promise<unknown> } {
  // It refuses to run as root.
  const asNobody = isRoot ? ["--reuid=65534", "--regid=65534", "--clear-groups"] : [];
  const ending = ["setpriv", ...asNobody, "--pdeathsig", "KILL", "--"];
  const [program = "", ...args] = place.enter([...ending, "pgbouncer", "-q", config]);
  const child = spawn(program, args, { env: administratorEnv, stdio: ["ignore", "ignore", "inherit"] });
  return { child, exited: once(child, "exit") };
}

function transactionMode({ place, port, serverHost, serverPort, authFile }: PoolerAddresses): string {
  return [
    "[databases]",
    `* = host=${serverHost} port=${serverPort}`,
    "[pgbouncer]",
    `listen_addr = ${place.address}`,
    `listen_port = ${port}`,
    "unix_socket_dir =",
    "pool_mode = transaction",
    "auth_type = plain",
    `auth_file = ${authFile}`,
    "max_client_conn = 200",
    "default_pool_size = 20",
    // By default it lets everybody wait for 15 s once its server has refused it.
    "server_login_retry = 1",
    "ignore_startup_parameters = extra_float_digits",
    ...tlsLines(place),
    "",
  ].join("\n");
}
