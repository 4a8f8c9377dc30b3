import { Agents } from "./agents.js";
import { Alerts } from "./alerts.js";
import { Audit } from "./audit.js";
import { Config } from "./config.js";
import { Connections } from "./connections.js";
import { Crons } from "./crons.js";
import { DeadLetters } from "./dead-letters.js";
import { Events } from "./events.js";
import { Jobs } from "./jobs.js";
import { Leadership } from "./leadership.js";
import { Messages } from "./messages.js";
import { Nodes } from "./nodes.js";
import { Overview } from "./overview.js";
import type { Page } from "./page.js";
import { Queue } from "./queue.js";
import { Tokens } from "./tokens.js";

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
    path: "/nodes",
    title: "Nodes",
    group: "Cluster",
    icon: "nodes",
    permission: "monitoring:read",
    component: Nodes,
  },
  {
    path: "/leadership",
    title: "Leadership",
    group: "Cluster",
    icon: "leadership",
    permission: "monitoring:read",
    component: Leadership,
  },
  {
    path: "/events",
    title: "Events",
    group: "Cluster",
    icon: "events",
    permission: "monitoring:read",
    component: Events,
  },
  {
    path: "/alerts",
    title: "Alerts",
    group: "Cluster",
    icon: "alerts",
    permission: "monitoring:read",
    component: Alerts,
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
  {
    path: "/jobs",
    title: "Jobs",
    group: "Work",
    icon: "jobs",
    permission: "monitoring:read",
    component: Jobs,
  },
  {
    path: "/agents",
    title: "Agents",
    group: "Work",
    icon: "agents",
    permission: "monitoring:read",
    component: Agents,
  },
  {
    path: "/crons",
    title: "Crons",
    group: "Work",
    icon: "crons",
    permission: "monitoring:read",
    component: Crons,
  },
  {
    path: "/messages",
    title: "Messages",
    group: "Messages",
    icon: "messages",
    permission: "monitoring:read",
    component: Messages,
  },
  {
    path: "/connections",
    title: "Connections",
    group: "Messages",
    icon: "connections",
    permission: "monitoring:read",
    component: Connections,
  },
  {
    path: "/config",
    title: "Configuration",
    group: "Messages",
    icon: "config",
    permission: "monitoring:read",
    component: Config,
  },
  {
    path: "/audit",
    title: "Audit",
    group: "Administration",
    icon: "audit",
    permission: "audit:read",
    component: Audit,
  },
  {
    path: "/tokens",
    title: "Tokens",
    group: "Administration",
    icon: "tokens",
    permission: "tokens",
    component: Tokens,
  },
];
