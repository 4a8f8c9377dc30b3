import type { Logger } from "pino";
import type { Config } from "../config/config.js";
import type { Clock } from "../election/clock.js";
import type { LeaseView } from "../election/core/lease.js";
import { retryWhileAway } from "../lifecycle/retry.js";
import { within } from "../lifecycle/within.js";
import type { MetricsSnapshot, Store, StoreNews } from "../store/contract.js";
import { compactorRole } from "../upkeep/upkeep-roles.js";
import { ClusterNews } from "./cluster-news.js";
import { Housekeeping } from "./housekeeping.js";
import { LeadershipNews } from "./leadership-news.js";
import { LoadMeter } from "./load-meter.js";
import { type NodeLoad, type NodeReport, type NodeRow, type NodeStatus, nodeStatuses, noLoad } from "./node-row.js";
import { type Actions, RequestDesk } from "./request-desk.js";

export interface MembershipParts {
  readonly config: Config;
  readonly report: NodeReport;
  readonly store: Pick<Store<unknown>, "registry" | "requests" | "snapshots">;
  readonly clock: Clock;
  readonly log: Logger;
  /** What this node can be asked to do. */
  readonly actions: Actions;
  readonly leadsAnything: () => boolean;
  readonly jobs: () => number;
  readonly contends: () => readonly string[];
  readonly heard: (leases: readonly LeaseView[]) => void;
  readonly accessChanged: (version: number) => void;
  readonly configChanged: (version: number) => void;
  /** A beat was answered, or there is something in the workers' book. */
  readonly workerNews: (kind: WorkerNews) => void;
  readonly trouble: (what: string, error: unknown) => void;
}

/** `members`: since the last beat a node came, went, or is another by now. */
export type WorkerNews = "beat" | "members" | "worker_order" | "worker_answer";

/** For those who forget nothing of it. */
const kept = { historyDays: 0, auditDays: 0 } as const;
const snapshotIntervalMs = 15_000;
/** A copy that is older comes from a node that cannot reach the database, and says nothing of now. */
const snapshotLifetimeMs = 3 * snapshotIntervalMs;
/** How long a node that says something beside its beats waits for the database. */
const tellPatienceMs = 1_000;

/** This node's place in the cluster: what it tells with its beats, what it hears, what it is asked, what it tidies. */
export class Membership {
  readonly news: ClusterNews;
  readonly leadership = new LeadershipNews();
  private readonly parts: MembershipParts;
  private readonly desk: RequestDesk;
  private readonly housekeeping: Housekeeping;
  private readonly loadMeter = new LoadMeter();
  private connections: () => number = () => 0;
  private saveSnapshot: (() => Promise<void>) | null = null;
  private leavesCopies = false;
  /** As of the last beat. */
  lastLoad: NodeLoad = noLoad;

  constructor(parts: MembershipParts) {
    const { clock, store, actions, trouble } = parts;
    this.parts = parts;
    this.news = new ClusterNews(clock);
    this.desk = new RequestDesk(store.requests, actions, trouble);
    this.housekeeping = new Housekeeping(clock, trouble);
  }

  /** Enters the registry. An id that is taken may be a predecessor's whose sessions linger: worth a little patience. */
  async join(patienceMs: number, predecessorPatienceMs: number, signal?: AbortSignal): Promise<void> {
    const { registry } = this.parts.store;
    registry.reportLoad(() => this.load());
    registry.follow((news) => this.hear(news));
    const { nodeTimeoutMs } = this.parts.config.timing;
    const taken = nodeTimeoutMs + predecessorPatienceMs;
    await retryWhileAway(() => registry.join(this.parts.report), patienceMs, [["NODE_ID_TAKEN", taken]], signal);
    this.housekeeping.start({ name: "tidy the registry", everyMs: nodeTimeoutMs, run: () => this.tidy() });
  }

  /** Tells how many connections are open, for the node's load. From then on its metrics are there for others, too. */
  countConnections(read: () => number, metrics: () => Promise<string>): void {
    this.connections = read;
    this.saveSnapshot = async () => await this.parts.store.snapshots.save(await metrics());
    this.leadershipChanged();
    const { enabled, interval } = this.parts.config.alerting;
    // Whoever looks at the alerts leaves one each time.
    if (!enabled || interval.ms > snapshotIntervalMs) this.leaveCopies();
  }

  /** Of its metrics, by itself and from now on: also a node that looks at the alerts no more, because it closes, is still to be seen. */
  leaveCopies(): void {
    const run = this.saveSnapshot;
    if (run === null || this.leavesCopies) return;
    this.leavesCopies = true;
    const { enabled, interval } = this.parts.config.alerting;
    // Rules are evaluated over the copies, and no more often than there are new ones.
    const everyMs = enabled ? Math.min(snapshotIntervalMs, interval.ms) : snapshotIntervalMs;
    this.housekeeping.start({ name: "leave a copy of the metrics", everyMs, run });
  }

  /** The copy that others read must not name a leader of before. */
  leadershipChanged(): void {
    this.leadership.tell();
    this.saveSnapshot?.().catch((error: unknown) => this.parts.trouble("could not leave a copy of the metrics", error));
  }

  /** Of those among these nodes that live. */
  async snapshotsOfOthers(nodes: readonly NodeRow[]): Promise<readonly MetricsSnapshot[]> {
    const living = new Set(
      nodes.filter(({ status }) => status !== "dead" && status !== "left").map(({ nodeId }) => nodeId),
    );
    living.delete(this.parts.report.nodeId);
    const snapshots = await this.parts.store.snapshots.all();
    return snapshots.filter(({ nodeId, ageMs }) => living.has(nodeId) && ageMs <= snapshotLifetimeMs);
  }

  /** Says it now; where the database does not hear it, the next beat says it again. */
  async tellStatus(status: NodeStatus): Promise<void> {
    const { registry } = this.parts.store;
    registry.setStatus(status);
    const told = registry
      .publishStatus()
      .catch((error: unknown) => this.parts.trouble(`could not say at once that this node is ${status}`, error));
    await within(tellPatienceMs, told);
  }

  /** The version of the shared configuration that this node runs; 0 outside a cluster. */
  get configVersion(): number {
    return this.parts.config.cluster.enabled ? this.news.configVersion : 0;
  }

  stop(): void {
    this.housekeeping.stop();
  }

  private load(): NodeLoad {
    this.lastLoad = {
      currentConnections: this.connections(),
      currentJobs: this.parts.jobs(),
      cpuUsage: this.loadMeter.cpuUsage(),
      memoryUsage: this.loadMeter.memoryUsage(),
      configVersion: this.configVersion,
      contends: this.parts.contends(),
    };
    return this.lastLoad;
  }

  private hear(news: StoreNews): void {
    if (news.kind === "requested") {
      void this.desk.look();
      return;
    }
    if (news.kind !== "beat") return this.parts.workerNews(news.kind);
    const before = this.news.members;
    this.news.hear(news);
    const isSame = nodeStatuses.every((status) => before[status] === news.members[status]);
    this.parts.workerNews(isSame ? "beat" : "members");
    this.parts.heard(news.leases);
    this.leadership.hear(news.leases);
    this.desk.take(news.requests);
    this.parts.accessChanged(news.accessVersion);
    this.parts.configChanged(news.configVersion);
  }

  /** Whether history and audit are somebody's own work; in a cluster without jobs there is no such role. */
  private isCompacted(): boolean {
    return (this.news.lease(compactorRole) ?? null) !== null;
  }

  /** Whoever leads anything looks after the registry; the others' time is for their beats. */
  private async tidy(): Promise<void> {
    if (!this.parts.leadsAnything()) return;
    const { cluster, timing } = this.parts.config;
    const { historyDays, auditDays } = this.isCompacted() ? kept : this.parts.config.retention;
    const { died, forgotten } = await this.parts.store.registry.tidy({
      nodeTimeoutMs: timing.nodeTimeoutMs,
      markDead: cluster.markDeadNodes,
      forgetAfterMs: cluster.forgetAfter.ms,
      historyDays,
      auditDays,
    });
    for (const nodeId of died) this.parts.log.warn({ node_id: nodeId, reason: "silent" }, "a node died");
    for (const nodeId of forgotten) this.parts.log.info({ node_id: nodeId, reason: "old" }, "a node was forgotten");
  }
}
