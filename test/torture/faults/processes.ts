import { within } from "../../../src/lifecycle/within.js";
import { waitUntil } from "../../../src/store/embedded/wait-until.js";
import { monotonicMs } from "../clock.js";
import type { Point } from "../node-order.js";
import { timings } from "../node-settings.js";
import type { PlaceProcess } from "../place-process.js";
import type { Seat } from "../seat.js";
import { type FaultScene, hold, inPlace, leaderFirst, type Strike, victims } from "./fault.js";

const atPointWithinMs = 4_000;
const forgetWithinMs = 1_000;

/** The role whose leader comes by the point. */
const roleOf: Readonly<Record<Point, string>> = {
  before_transaction: "writer",
  in_transaction: "writer",
  in_own_transaction: "writer",
  before_commit: "writer",
  after_commit: "writer",
  in_gate: "writer",
  in_handler: "queue",
  before_ack: "queue",
  at_elected: "writer",
  at_lost: "writer",
};

/** SIGKILL, in the middle of anything or at a named point. Another process takes the place after a while. */
export const kill: Strike = async (scene) => {
  const point = scene.random.chance(0.7) ? scene.random.pick(Object.keys(roleOf) as Point[]) : undefined;
  const seats = point === undefined ? await victims(scene) : await comingBy(scene, point);
  await inPlace(scene, seats, async (seat) => {
    const { process } = seat;
    scene.begin(process.name, point === undefined ? {} : { point });
    if (point !== undefined) await waitAtPoint(scene, seat, point, "SIGKILL");
    process.kill("SIGKILL");
    await process.exited;
    await hold(scene, scene.random.whole(0, 1_500));
    await seat.revive();
  });
};

/** SIGSTOP for half to three TTLs. */
export const freeze: Strike = async (scene) => {
  const points: readonly Point[] = ["in_gate", "in_handler", "before_ack", "after_commit", "at_elected"];
  const point = scene.random.chance(0.4) ? scene.random.pick(points) : undefined;
  const seats = point === undefined ? await victims(scene) : await comingBy(scene, point);
  await inPlace(scene, seats, async (seat) => {
    scene.begin(seat.name, point === undefined ? {} : { point });
    if (point !== undefined) await waitAtPoint(scene, seat, point, "SIGSTOP");
    seat.process.kill("SIGSTOP");
    await thawAfter(scene, seat.process);
  });
};

/** The same in the middle of a fenced transaction, which is then still open at the server. */
export const freezeInTransaction: Strike = async (scene) => {
  const point = scene.random.pick<Point>(["in_transaction", "in_own_transaction", "before_commit"]);
  await inPlace(scene, await leaderFirst(scene, "writer"), async (seat) => {
    const at = monotonicMs();
    if (!(await waitAtPoint(scene, seat, point, "SIGSTOP"))) return;
    scene.begin(seat.name, { at, point });
    await thawAfter(scene, seat.process);
  });
};

/** The loop is busy, so timers and sockets wait; the process is otherwise alive. */
export const blockLoop: Strike = async (scene) => {
  await inPlace(scene, await victims(scene), async (seat) => {
    scene.begin(seat.name);
    const ms = scene.random.whole(timings.ttlMs / 2, timings.ttlMs * 2);
    // The end of the process ends the block, too.
    await seat.process.ask({ command: "block", ms }).catch(() => undefined);
  });
};

async function thawAfter(scene: FaultScene, process: PlaceProcess): Promise<void> {
  try {
    await hold(scene, scene.random.whole(timings.ttlMs / 2, timings.ttlMs * 3));
  } finally {
    process.kill("SIGCONT");
  }
}

/** Those who come by the point soon; at an election that is whoever does not lead yet. */
async function comingBy(scene: FaultScene, point: Point): Promise<readonly Seat[]> {
  const seats = await leaderFirst(scene, roleOf[point]);
  return point === "at_elected" ? seats.toReversed() : seats;
}

/** Whether it got there. Elections are brought about, all else happens by itself. */
async function waitAtPoint(
  scene: FaultScene,
  seat: Seat,
  point: Point,
  signal: "SIGSTOP" | "SIGKILL",
): Promise<boolean> {
  const { process } = seat;
  // A process that is cut off, frozen by another fault or gone does not answer; whether it gets there is all that counts.
  void process.ask({ command: "at_point", point, signal }).catch(() => undefined);
  if (point === "at_elected" || point === "at_lost") {
    const [leader] = await leaderFirst(scene, roleOf[point]);
    void leader?.process.ask({ command: "step_down", role: roleOf[point] }).catch(() => undefined);
  }
  const reached = () => scene.signal.aborted || !process.isAlive || process.isStopped;
  const inTime = await waitUntil(reached, atPointWithinMs);
  if (!inTime) {
    // It may come to the point before it hears of this.
    const forgot = process.ask({ command: "forget_points" }).catch(() => undefined);
    await within(forgetWithinMs, forgot, () => undefined);
    process.kill("SIGCONT");
  }
  return inTime && !scene.signal.aborted;
}
