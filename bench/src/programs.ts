/** What a child process can be. Each is loaded only where it runs. */
export const programs = {
  nodes: () => import("./processes/nodes.js"),
  bareProcess: () => import("./processes/bare-process.js"),
  idleNode: () => import("./processes/idle-node.js"),
  fencedLoad: () => import("./processes/fenced-load.js"),
  bareSession: () => import("./peers/bare-session.js"),
  lockPoller: () => import("./peers/lock-poller.js"),
  rowLease: () => import("./peers/row-lease.js"),
  etcdElection: () => import("./peers/etcd-election.js"),
  holdfastQueue: () => import("./processes/holdfast-queue.js"),
  servingNode: () => import("./processes/serving-node.js"),
  holdfastJobs: () => import("./processes/holdfast-jobs.js"),
  waitingAgents: () => import("./processes/waiting-agents.js"),
  engineNode: () => import("./processes/engine-node.js"),
  mllpPeers: () => import("./processes/mllp-peers.js"),
  soakNode: () => import("./processes/soak-node.js"),
  soakJobs: () => import("./processes/soak-jobs.js"),
  soakFeed: () => import("./processes/soak-feed.js"),
  mllpEcho: () => import("./processes/mllp-echo.js"),
  bareInserts: () => import("./peers/bare-inserts.js"),
  graphileWorker: () => import("./peers/graphile-worker.js"),
  pgBoss: () => import("./peers/pg-boss.js"),
} as const satisfies Record<string, () => Promise<{ run(url: string): void }>>;

export type ProgramName = keyof typeof programs;

export async function runProgram(name: string, url: string): Promise<void> {
  if (!(name in programs)) throw new Error(`no such program: ${name}`);
  // Whatever becomes of the bench, its children do not outlive it.
  process.on("disconnect", () => process.exit(0));
  const program = await programs[name as ProgramName]();
  program.run(url);
}
