import type { Workload } from "../workload.js";
import { Lanes } from "./lanes.js";
import { Register } from "./register.js";

/** What a whole run puts on the cluster. */
export function everyWorkload(): readonly Workload[] {
  return [new Register(), new Lanes()];
}
