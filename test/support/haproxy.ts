import { spawn } from "node:child_process";
import { once } from "node:events";
import { createConnection } from "node:net";
import { fileURLToPath } from "node:url";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import type { Address } from "./engine-feed.js";
import { freePort } from "./free-ports.js";
import { administratorEnv } from "./programs.js";

/** The file that the guide to the engine shows, as it is. */
const ofInbounds = fileURLToPath(new URL("../../docs/guides/haproxy.cfg", import.meta.url));

/** How long it may take to notice that one node listens no more, and that another does. */
export const noticedWithinMs = 250 + 100 + 250;

export interface HaProxy extends AsyncDisposable {
  readonly address: Address;
}

/** HAProxy before two nodes, with a guide's configuration: that for one inbound unless another is named. */
export async function startHaProxy(nodes: readonly Address[], file = ofInbounds): Promise<HaProxy> {
  const address = { host: "127.0.0.1", port: await freePort() };
  const [first, second] = nodes.map(({ host, port }) => `${host}:${port}`);
  const child = spawn("haproxy", ["-q", "-db", "-f", file], {
    env: {
      ...administratorEnv,
      HOLDFAST_BIND: `${address.host}:${address.port}`,
      HOLDFAST_NODE_1: first ?? "",
      HOLDFAST_NODE_2: second ?? "",
    },
    stdio: ["ignore", "ignore", "inherit"],
  });
  await once(child, "spawn").catch((error: unknown) => {
    throw new Error("HAProxy cannot be run; on Debian: apt-get install haproxy", { cause: error });
  });
  const exited = once(child, "exit");
  const stop = async (): Promise<void> => {
    child.kill("SIGKILL");
    await exited;
  };
  if (await waitUntil(async () => await isListening(address), 15_000)) return { address, [Symbol.asyncDispose]: stop };
  await stop();
  throw new Error("HAProxy does not listen.");
}

async function isListening({ host, port }: Address): Promise<boolean> {
  const socket = createConnection({ host, port });
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
