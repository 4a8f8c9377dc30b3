import { DeadLetters } from "./dead-letters.js";
import { Overview } from "./overview.js";
import type { Page } from "./page.js";
import { Queue } from "./queue.js";

/** Every page, in the order of the menu. */
export const pages: readonly Page[] = [
  {
    path: "/",
    title: "Overview",
    group: "Cluster",
    icon: "overview",
    permission: "monitoring:read",
    component: Overview,
  },
  {
    path: "/queue",
    title: "Queue",
    group: "Work",
    icon: "queue",
    permission: "monitoring:read",
    component: Queue,
  },
  {
    path: "/dead-letters",
    title: "Dead letters",
    group: "Work",
    icon: "dead",
    permission: "monitoring:read",
    component: DeadLetters,
  },
];
