import { setMaxListeners } from "node:events";
import { duplicateRequests as duplicate } from "../workloads/duplicate-requests.js";
import { slowClients as dawdle, flood as press } from "../workloads/pressure.js";
import { type FaultScene, hold, type Strike } from "./fault.js";

/** Clients of all nodes misbehave for a while. */
const misbehaving =
  (shortestMs: number, misbehave: (scene: FaultScene, over: AbortSignal) => Promise<void>): Strike =>
  async (scene) => {
    const over = new AbortController();
    setMaxListeners(0, over.signal);
    scene.begin("clients");
    const doing = misbehave(scene, over.signal);
    await hold(scene, scene.random.whole(shortestMs, 2 * shortestMs));
    over.abort();
    await doing;
  };

export const flood = misbehaving(1_500, ({ load, random }, over) => press({ ...load, random }, over));
export const slowClients = misbehaving(2_500, ({ load, random }, over) => dawdle({ ...load, random }, over));
export const duplicateRequests = misbehaving(2_000, ({ load, number }, over) => duplicate(load, number, over));
