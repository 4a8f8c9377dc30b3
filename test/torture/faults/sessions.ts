import { within } from "../../../src/lifecycle/within.js";
import { withClient } from "../../support/postgres.js";
import { monotonicMs } from "../clock.js";
import { type FaultScene, hold, type Strike, victims } from "./fault.js";

const answerWithinMs = 5_000;

export type Purpose = "lock" | "witness" | "pool";

/** An administrator ends sessions of a node. */
const terminated =
  (purpose: Purpose): Strike =>
  async (scene) => {
    const [seat] = await victims(scene);
    const at = monotonicMs();
    if (seat === undefined || (await terminate(scene, purpose, seat.name)) === 0) return;
    scene.begin(seat.name, { at });
    await hold(scene, scene.random.whole(300, 1_500));
  };

export const terminateLockSession = terminated("lock");
export const terminateListener = terminated("witness");
export const terminateWorker = terminated("pool");

/** How many there were. Of a server that is away at the moment none are ended. */
export async function terminate({ cluster }: FaultScene, purpose: Purpose, node: string): Promise<number> {
  const ending = withClient(cluster.database.url, (client) =>
    client.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE application_name LIKE 'holdfast ' || $1 || ' % ' || $2`,
      [purpose, node],
    ),
  );
  const ended = ending.then(
    ({ rowCount }) => rowCount ?? 0,
    () => 0,
  );
  // An address that moves away under a question leaves it unanswered for ever.
  return await within(answerWithinMs, ended, () => 0);
}
