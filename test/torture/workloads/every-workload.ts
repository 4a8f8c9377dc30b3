import type { Workload } from "../workload.js";
import { EventReaders } from "./event-readers.js";
import { JobLoad } from "./job-load.js";
import { Lanes } from "./lanes.js";
import { MllpFeed } from "./mllp-feed.js";
import { Register } from "./register.js";
import { RolePolls } from "./role-polls.js";

/** What a whole run puts on the cluster. */
export function everyWorkload(): readonly Workload[] {
  return [new Register(), new Lanes(), new JobLoad(), new MllpFeed(), new RolePolls(), new EventReaders()];
}
