import type { Logger } from "pino";
import type { Config } from "../../config/config.js";
import type { Clock } from "../../election/clock.js";
import type { WorkerNews } from "../../membership/membership.js";
import type { WorkerBook } from "../../store/worker-contract.js";
import { workSettings } from "../agent/agent-settings.js";
import type { Operation, Operations } from "../agent/operation.js";
import { mayWork } from "../core/working-rule.js";
import { drainGraceMsOf } from "../job-settings.js";
import type { Jobs } from "../jobs.js";
import { jobLimits } from "../new-job.js";
import { ClusterLink } from "./cluster-link.js";
import { Crew } from "./crew.js";
import { functionAgentOf, functionNamespace, functionOp } from "./function-name.js";
import { OrderDesk } from "./order-desk.js";
import { OrderPost } from "./order-post.js";
import type { WorkerAnswer } from "./worker-order.js";

export interface WorkerParts {
  readonly book: WorkerBook;
  readonly jobs: Jobs;
  readonly config: Config;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly node: { readonly nodeId: string; readonly incarnation: string };
  /** How many nodes are active, this one included. */
  readonly activeNodes: () => number;
  readonly isDraining: () => boolean;
  readonly trouble: (what: string, error: unknown) => void;
}

/** What this node can do for the cluster. */
export interface Employment {
  readonly operations?: Operations | undefined;
  /** Each answers `POST /v1/functions/{name}`, on whichever node has it. */
  readonly functions?: Operations | undefined;
  /** How many tasks run at the same time; as many functions beside them. 4 by default. */
  readonly concurrency?: number | undefined;
}

/** It has to be seen as alive: stale is who was silent for 45 s. */
const heartbeatMs = 30_000;
/** A wish for work costs the database five statements, however long it waits. */
const pollMs = 100_000;
/** What giving back takes, of the time that a node has to stop. */
const partingMs = 2_000;

/** This node as a worker of the cluster, and where it leads the jobs, the one whom the workers ask. */
export class Worker {
  private readonly parts: WorkerParts;
  private readonly post: OrderPost;
  private readonly crews: Crew[] = [];
  private desk: OrderDesk | null = null;

  constructor(parts: WorkerParts) {
    const { book, clock, config, node, trouble, jobs } = parts;
    this.parts = parts;
    this.post = new OrderPost({
      book,
      clock,
      trouble,
      incarnation: node.incarnation,
      beatMs: config.timing.heartbeatMs,
      unclaimed: (_id, answer) => this.giveBackUnclaimed(answer),
    });
    jobs.follow({
      began: () => this.lead(),
      ended: () => this.follow(),
      isLettingGo: () => this.crews.some(({ isStopping }) => isStopping),
    });
  }

  /** How many tasks run here. */
  get running(): number {
    return this.crews.reduce((sum, { running }) => sum + running, 0);
  }

  /** From here on this node works, whenever it may. A node without the role is told so in its log, and does not. */
  employ({ operations = {}, functions = {}, concurrency }: Employment): void {
    const { roles, capabilities } = this.parts.config.cluster;
    const { nodeId } = this.parts.node;
    if (this.isMeant("worker", "operations", operations)) {
      const agent = agentNameOf(nodeId);
      this.hire({ name: agent, operations, capabilities, concurrency }, () => this.mayWork(roles.includes("worker")));
    }
    if (this.isMeant("function", "functions", functions)) {
      const named = Object.entries(functions).map(([name, fn]): [string, Operation] => [functionOp(name), fn]);
      const agent = functionAgentOf(agentNameOf(nodeId));
      const asked = { name: agent, operations: Object.fromEntries(named), namespace: functionNamespace, concurrency };
      // A function is a request that somebody waits for: the leader runs its own where nobody else can.
      this.hire({ ...asked, capabilities: named.map(([op]) => op) }, () => !this.parts.isDraining(), true);
    }
    this.reconsider();
  }

  /** Whatever decides who works may have changed. */
  reconsider(): void {
    for (const crew of this.crews) crew.reconsider();
  }

  hear(news: WorkerNews): void {
    if (news === "worker_answer") this.post.hear();
    if (news === "worker_order") this.desk?.hear();
    if (news === "members") this.desk?.membersChanged();
    if (news === "members" || news === "beat") this.reconsider();
  }

  /** For a node that drains: resolves when all that ran here has ended, or has been given back. */
  async rest(): Promise<void> {
    this.reconsider();
    await Promise.all(this.crews.map(async (crew) => await crew.stop()));
  }

  close(): void {
    this.post.close();
    this.desk?.end();
  }

  private mayWork(hasRole: boolean): boolean {
    const { jobs, config, activeNodes, isDraining } = this.parts;
    const { leaderWorks } = config.jobs;
    const situation = { isLeader: jobs.isOpen, isDraining: isDraining(), activeNodes: activeNodes(), leaderWorks };
    return hasRole && mayWork(situation);
  }

  private isMeant(role: "worker" | "function", what: string, given: Operations): boolean {
    if (Object.keys(given).length === 0) return false;
    const { config, log, node } = this.parts;
    if (config.cluster.roles.includes(role)) return true;
    const why = `this node has ${what} and runs none of them: cluster.roles lacks "${role}"`;
    log.warn({ node_id: node.nodeId }, why);
    return false;
  }

  private hire(
    asked: Omit<Parameters<typeof workSettings>[0], "clock">,
    may: () => boolean,
    isLastResort = false,
  ): void {
    const { jobs, clock, random, log, config } = this.parts;
    const drainMs = drainGraceMsOf(config);
    const settings = workSettings({ ...asked, clock, random, log, heartbeatMs, pollMs, drainMs });
    const link = () => new ClusterLink({ settings, post: this.post, jobs, clock, random, isLastResort });
    this.crews.push(new Crew({ settings, link, mayWork: may, drainMs: () => this.drainMs(drainMs), log }));
  }

  /** A node that drains has its own time, unless it leads: nobody takes its results longer than the leader does. */
  private drainMs(graceMs: number): number {
    const { jobs, config, isDraining } = this.parts;
    if (jobs.isOpen || !isDraining()) return graceMs;
    return Math.max(0, config.timing.drainTimeoutMs - partingMs);
  }

  private lead(): void {
    const { book, jobs, clock, config, node, trouble, log } = this.parts;
    const { heartbeatMs: beatMs, nodeTimeoutMs } = config.timing;
    const gaveBack = (agent: string, given: number): void =>
      log.warn({ agent, jobs: given }, "a worker lives no more: its jobs go to others");
    const { nodeId } = node;
    this.desk = new OrderDesk({ book, jobs, clock, nodeId, beatMs, nodeTimeoutMs, trouble, gaveBack });
    void this.desk.run();
    this.reconsider();
  }

  private follow(): void {
    this.desk?.end();
    this.desk = null;
    this.reconsider();
  }

  /** Work for which nobody waits here any more: others have it, and it cost no attempt. */
  private giveBackUnclaimed(answer: WorkerAnswer): void {
    const lease = answer.kind === "done" && "kind" in answer.answer ? answer.answer : null;
    if (lease?.kind !== "leased") return;
    const { trouble, node } = this.parts;
    const agent = lease.tasks[0]?.namespace === functionNamespace ? functionAgentOf(agentNameOf(node.nodeId)) : null;
    const order = { kind: "give_back", agent: agent ?? agentNameOf(node.nodeId), leaseId: lease.leaseId } as const;
    const asking = { timeoutMs: pollMs, signal: new AbortController().signal };
    this.post.ask(this.post.newId(), order, asking).catch((error: unknown) => trouble("cannot give jobs back", error));
  }
}

/** Ids of nodes may hold what names of agents may not. */
export function agentNameOf(nodeId: string): string {
  const name = `node:${nodeId}`;
  return jobLimits.name.test(name) ? name : name.replace(/[^A-Za-z0-9_.:@/-]/g, "_").slice(0, longestName);
}

const longestName = 200;
