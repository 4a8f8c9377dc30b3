import type { OpenSoak } from "../messages.js";
import { takeOrders, tell } from "../processes/parent.js";
import type { PacedLoad } from "./paced-load.js";

/** Collects garbage, where the process was started so that it can. */
const collect = (globalThis as { gc?: () => void }).gc;

/** One process of a soak. */
interface SoakParty {
  readonly load: PacedLoad;
  /** Answers with where it can be reached. */
  readonly open: (order: OpenSoak) => Promise<string>;
  /** Listens for messages, where it is the one who gets them in the end. */
  readonly receive?: () => Promise<readonly number[]>;
}

/** What the processes of a soak have in common: they begin, tell how they are, and come to rest. */
export function takeSoakOrders({ load, open, receive }: SoakParty): void {
  takeOrders(async (order) => {
    if (order.kind === "receive" && receive !== undefined) {
      tell({ kind: "receiving", ports: await receive() });
    } else if (order.kind === "openSoak") {
      tell({ kind: "serving", url: await open(order) });
    } else if (order.kind === "pace") {
      load.begin(order.perSecond);
      tell({ kind: "running" });
    } else if (order.kind === "sampleHeap") {
      collect?.();
      tell({ kind: "heapSampled", bytes: process.memoryUsage().heapUsed });
    } else if (order.kind === "sampleLoad") {
      tell({ kind: "loadSampled", ...load.take() });
    } else if (order.kind === "rest") {
      await load.rest();
      tell({ kind: "rested" });
    }
  });
}
