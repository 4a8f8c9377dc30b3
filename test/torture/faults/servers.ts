import { Client } from "pg";
import { monotonicMs } from "../clock.js";
import { type FaultScene, hold, type Strike } from "./fault.js";
import { terminate } from "./sessions.js";

const on = "db";

const restart =
  (mode: "fast" | "immediate"): Strike =>
  async (scene) => {
    scene.begin(on);
    const { database } = scene.cluster;
    await database.primary.stop(mode);
    await hold(scene, scene.random.whole(0, 2_500));
    await database.ensureRunning();
  };

export const restartFast = restart("fast");
export const restartImmediate = restart("immediate");

/**
 * The replica falls behind, load goes on, the primary is lost and the replica takes over without what it has not heard of. At times the
 * whole machine is lost, so that nobody tells its clients.
 */
export const databaseFailover: Strike = async (scene) => {
  const { database } = scene.cluster;
  if (!database.hasReplica) return;
  const { lostFrom } = await database.cutReplication();
  scene.begin(on, { at: lostFrom, lostFrom });
  await hold(scene, scene.random.whole(300, 2_000));
  await database.failOver(scene.random.chance(0.5));
  await database.ensureRunning();
  database.addReplicaSoon();
};

/** Every connection that the server allows is taken, and what a node loses of its own it does not get again. */
export const connectionsExhausted: Strike = async (scene) => {
  const { cluster, random } = scene;
  scene.begin(on);
  const hoarded: Client[] = [];
  const lastsMs = random.whole(2_000, 4_000);
  try {
    await hoard(scene, hoarded);
    await terminate(scene, "pool", random.pick(cluster.seats).name);
    await hoard(scene, hoarded);
    await hold(scene, lastsMs);
  } finally {
    await Promise.all(hoarded.map((client) => client.end().catch(() => undefined)));
  }
};

/** Until there is none left, which the server tells. */
async function hoard({ cluster, load, signal }: FaultScene, hoarded: Client[]): Promise<void> {
  while (!signal.aborted) {
    const client = new Client({
      connectionString: cluster.database.appUrl(cluster.network.shared),
      application_name: "hoarder",
      connectionTimeoutMillis: 3_000,
    });
    // Its end is as good as its being there.
    client.on("error", () => undefined);
    try {
      await client.connect();
      hoarded.push(client);
    } catch (error) {
      const { code = (error as Error).name } = error as NodeJS.ErrnoException;
      load.log({ by: "hoarder", at: monotonicMs(), kind: "rejection", code });
      return;
    }
  }
}

/** Not a byte is left on the disk of the server, which may well end over it. */
export const diskFull: Strike = async (scene) => {
  const { database } = scene.cluster;
  const { primary } = database;
  scene.begin(on);
  await primary.fillDisk();
  try {
    await hold(scene, scene.random.whole(1_500, 4_000));
  } finally {
    await primary.emptyDisk();
    await database.ensureRunning();
  }
};
