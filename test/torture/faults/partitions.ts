import { placeBehindProxy } from "../cluster.js";
import type { Way } from "../network.js";
import { timings } from "../node-settings.js";
import type { Seat } from "../seat.js";
import { type FaultScene, hold, inPlace, type Strike, victims } from "./fault.js";

/** A node is cut off from all, or from its database. At times two are, and come back one after the other. */
export const partition: Strike = async (scene) => {
  const [first, second, ...rest] = await severable(scene);
  if (first === undefined) return;
  const seats = second !== undefined && rest.length > 0 && scene.random.chance(0.3) ? [first, second] : [first];
  const fromAll = scene.cluster.network.kind === "namespaces" && scene.random.chance(0.6);
  scene.begin(seats.map(({ name }) => name).join(","));
  await Promise.all(
    seats.map((seat) =>
      cutOff(scene, seat, () =>
        fromAll ? scene.cluster.network.cut(seat.host, "both") : cutFromDatabase(scene, seat, "both"),
      ),
    ),
  );
};

/** Only one way is cut: what the node asks is not heard, or what it is answered. */
const oneWay =
  (way: Way): Strike =>
  async (scene) => {
    await inPlace(scene, await severable(scene), async (seat) => {
      scene.begin(seat.name);
      await cutOff(scene, seat, () => cutFromDatabase(scene, seat, way));
    });
  };

export const partitionToDatabase = oneWay("to");
export const partitionFromDatabase = oneWay("from");

/** On loopback only who is behind the proxy can be. */
async function severable(scene: FaultScene): Promise<readonly Seat[]> {
  if (scene.cluster.network.kind === "namespaces") return await victims(scene);
  return scene.cluster.seats.filter(({ place }) => place.name === placeBehindProxy);
}

async function cutOff(scene: FaultScene, seat: Seat, cut: () => void): Promise<void> {
  try {
    cut();
    await hold(scene, scene.random.whole(timings.ttlMs / 2, timings.ttlMs * 3));
  } finally {
    mend(scene, seat);
  }
}

/** Where there are several ways to the database, at times only one of them. */
function cutFromDatabase({ cluster, random }: FaultScene, seat: Seat, way: Way): void {
  if (cluster.network.kind === "loopback") return cluster.proxy.cut(way);
  const ways = seat.ways.length > 1 && random.chance(0.5) ? [random.pick(seat.ways)] : seat.ways;
  for (const peer of ways) cluster.network.cut(seat.host, way, peer);
}

function mend({ cluster }: FaultScene, seat: Seat): void {
  if (cluster.network.kind === "loopback") cluster.proxy.mend();
  else cluster.network.mend(seat.host);
}
