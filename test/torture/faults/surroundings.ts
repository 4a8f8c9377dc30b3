import { hold, type Strike } from "./fault.js";

/** The wall clock of one node jumps, and jumps back after a while. */
export const clockJump: Strike = async (scene) => {
  const { cluster, random } = scene;
  const seat = cluster.seats.find(({ hasFakeClock }) => hasFakeClock);
  if (seat === undefined) return;
  const seconds = random.pick([3600, -3600, 86_400, -86_400, 7, -7, 2, -2]);
  scene.begin(seat.name);
  try {
    await cluster.clock.step(seconds < 0 ? String(seconds) : `+${seconds}`);
    await hold(scene, random.whole(2_000, 5_000));
  } finally {
    await cluster.clock.step("+0");
  }
};

/** Every connection through the pooler breaks, and for a moment none is to be had. */
export const poolerRestart: Strike = async (scene) => {
  const { cluster } = scene;
  scene.begin("pool");
  await cluster.pooler.restart();
  await hold(scene, scene.random.whole(200, 1_000));
};
