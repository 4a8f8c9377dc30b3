import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pickFreePort } from "../../src/store/embedded/port.js";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { withClient } from "./postgres.js";
import { administratorEnv } from "./programs.js";

export interface PgBouncer extends AsyncDisposable {
  /** The same database by way of the pooler. */
  through(url: string): string;
}

/** A PgBouncer in transaction mode before the server of this URL. */
export async function startPgBouncer(serverUrl: string): Promise<PgBouncer> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-pgbouncer-"));
  const { hostname, port, username, password } = new URL(serverUrl);
  const ownPort = await pickFreePort();
  const lines = [
    "[databases]",
    `* = host=${hostname} port=${port}`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${ownPort}`,
    "unix_socket_dir =",
    "pool_mode = transaction",
    "auth_type = plain",
    `auth_file = ${join(folder, "users.txt")}`,
    "max_client_conn = 200",
    "default_pool_size = 20",
    "ignore_startup_parameters = extra_float_digits",
    "",
  ];
  await writeFile(join(folder, "pgbouncer.ini"), lines.join("\n"));
  await writeFile(join(folder, "users.txt"), `"${username}" "${decodeURIComponent(password)}"\n`);
  await chmod(folder, 0o755);
  // It refuses to run as root.
  const asNobody = process.getuid?.() === 0 ? ["-u", "nobody"] : [];
  const child = spawn("pgbouncer", ["-q", ...asNobody, join(folder, "pgbouncer.ini")], {
    env: administratorEnv,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const exited = once(child, "exit");
  const through = (url: string) => {
    const changed = new URL(url);
    changed.host = `127.0.0.1:${ownPort}`;
    return changed.href;
  };
  const stop = async () => {
    child.kill("SIGKILL");
    await exited;
    await rm(folder, { recursive: true, force: true });
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
  return { through, [Symbol.asyncDispose]: stop };
}
