import { within } from "../../../src/lifecycle/within.js";
import { monotonicMs } from "../clock.js";
import { placeBehindProxy as place } from "../cluster.js";
import { type FaultScene, hold, type Strike } from "./fault.js";

const waitMs = 6_000;
const handOverMs = 3_000;

/** A COMMIT is done, and whoever asked for it is never told. It can only meet who is behind the proxy, and leads. */
export const replyLostAfterCommit: Strike = async (scene) => {
  const seat = scene.cluster.seat(place);
  if (seat === undefined) return;
  if ((await seat.leads()).length === 0) await handOver(scene);
  const at = monotonicMs();
  const how = scene.random.pick(["silence", "end"] as const);
  const happened = await scene.cluster.proxy.loseReply(how, waitMs);
  if (!happened) return;
  scene.begin(seat.name, { at });
  await hold(scene, scene.random.whole(500, 2_000));
};

/** Answers take their time: those to the node behind the proxy, or, with a server that is out of breath, those to all. */
export const slowDatabase: Strike = async (scene) => {
  const { cluster, random } = scene;
  const lastsMs = random.whole(2_000, 5_000);
  const delayMs = random.whole(50, 600);
  const forAll = random.chance(0.5);
  scene.begin(forAll ? "db" : place);
  if (!forAll) cluster.proxy.delay(delayMs);
  try {
    const until = monotonicMs() + lastsMs;
    while (monotonicMs() < until && !scene.signal.aborted) await (forAll ? gasp(scene, delayMs) : hold(scene, lastsMs));
  } finally {
    cluster.proxy.delay(0);
  }
};

/** The whole server stands still for a moment, and works for a shorter one. */
async function gasp(scene: FaultScene, ms: number): Promise<void> {
  const { primary } = scene.cluster.database;
  primary.signalAll("SIGSTOP");
  try {
    await hold(scene, ms);
  } finally {
    primary.signalAll("SIGCONT");
  }
  await hold(scene, scene.random.whole(30, 150));
}

/** Whoever leads steps down, and with some luck the one behind the proxy follows. */
async function handOver({ cluster }: FaultScene): Promise<void> {
  const others = cluster.seats.filter(({ place: { name } }) => name !== place);
  await Promise.all(
    others.map(async (seat) => {
      const { process } = seat;
      for (const role of await seat.leads())
        await within(
          handOverMs,
          process.ask({ command: "step_down", role }).catch(() => undefined),
        );
    }),
  );
}
