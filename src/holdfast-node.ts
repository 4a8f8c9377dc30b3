import { EventEmitter } from "node:events";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import { Access } from "./access/access.js";
import { AlertRoom } from "./alerts/alert-room.js";
import type { Config } from "./config/config.js";
import type { Clock } from "./election/clock.js";
import { parseRole } from "./election/core/names.js";
import type { Elector } from "./election/elector.js";
import type { RoleHandle } from "./election/role.js";
import { RoleBook } from "./election/role-book.js";
import { EngineRoom } from "./engine/engine-room.js";
import { type ErrorCode, HoldfastError } from "./errors.js";
import type { Crons } from "./jobs/crons.js";
import { type Jobs, jobsRole } from "./jobs/jobs.js";
import { hasCrons, jobsRoomOf } from "./jobs/jobs-room.js";
import type { FunctionCalls } from "./jobs/worker/function-calls.js";
import type { Worker } from "./jobs/worker/worker.js";
import { awaitDatabase } from "./lifecycle/await-database.js";
import { Drain, drainTimesOf } from "./lifecycle/drain.js";
import { type BeatSignals, firstBeat } from "./lifecycle/first-beat.js";
import { InFlightWork } from "./lifecycle/in-flight.js";
import { type ClusterView, viewCluster } from "./membership/cluster-view.js";
import { Membership } from "./membership/membership.js";
import type { NodeLoad } from "./membership/node-row.js";
import { leaderOf, type Posture, postureOf, type Readiness, readinessOf } from "./membership/posture.js";
import { electorOf } from "./node-elector.js";
import type { NodeEvents } from "./node-events.js";
import { type NodeParts, startPatience } from "./node-parts.js";
import { queueDefaultsOf } from "./queue/queue-defaults.js";
import { Queues } from "./queue/queues.js";
import type { QueueBook } from "./store/queue-contract.js";
import { ClusterMetrics } from "./telemetry/cluster-metrics.js";
import { clusterText } from "./telemetry/cluster-text.js";
import { ElectionObserver } from "./telemetry/election-observer.js";
import { ElectionMetrics } from "./telemetry/metrics.js";
import { QueueMetrics } from "./telemetry/queue-metrics.js";
import { Upkeep } from "./upkeep/upkeep.js";

/** One process of the cluster. It wires the rooms together; each of them is tested without it. */
export class HoldfastNode<Tx> extends EventEmitter<NodeEvents> implements AsyncDisposable {
  /** Its name in the cluster. */
  readonly id: string;
  /** The settings that it runs by, checked and complete. */
  readonly config: Config;
  /** Where it tells what happens to it. */
  readonly log: Logger;
  readonly clock: Clock;
  /** What is under way here; a drain waits for it. */
  readonly work = new InFlightWork();
  /** The metrics of this node. */
  readonly registry: Registry;
  /** Who is here and who leads, as the database shows it. */
  readonly cluster: ClusterView;
  readonly access: Access;
  /** For `createQueue` of `holdfast/queue`. @internal */
  readonly queueBook: QueueBook;
  /** The queues that were made in this process. */
  readonly queues: Queues;
  /** Reads are anybody's; `createJobs` of `holdfast/jobs` opens them here. */
  readonly jobs: Jobs;
  /** Jobs that are submitted by the clock. */
  readonly crons: Crons;
  readonly worker: Worker;
  readonly functions: FunctionCalls;
  /** The message graph, where one was opened here. */
  readonly engine: EngineRoom;
  readonly alerts: AlertRoom;
  private readonly parts: NodeParts<Tx>;
  private readonly elector: Elector;
  private readonly observer: ElectionObserver;
  private readonly metrics: readonly { remove(): void }[];
  private readonly membership: Membership;
  private readonly draining: Drain;
  private readonly roles: RoleBook<Tx>;
  private readonly stopping = new AbortController();
  private readonly signals: BeatSignals = new EventEmitter();
  private readonly trouble = (what: string, error: unknown): void => this.observer.trouble(what, error);
  private broken: ErrorCode | null = null;
  private closing: Promise<void> | null = null;

  private constructor(parts: NodeParts<Tx>) {
    super();
    const { config, store, clock, log, registry } = parts;
    const { prefix } = config.metrics;
    this.parts = parts;
    ({ config: this.config, log: this.log, clock: this.clock, registry: this.registry } = parts);
    this.id = parts.report.nodeId;
    const elections = new ElectionMetrics(registry, prefix);
    this.observer = new ElectionObserver({ log, metrics: elections, nodeId: parts.report.nodeId, clock });
    this.access = new Access(store.access, clock);
    this.queueBook = store.queue;
    const queueMetrics = new QueueMetrics(registry, prefix);
    this.queues = new Queues({ store, clock, metrics: queueMetrics, defaults: queueDefaultsOf(config) });
    this.roles = new RoleBook({
      store,
      clock,
      observer: this.observer,
      signal: this.stopping.signal,
      elector: () => this.elector,
      alsoEnded: () => this.work.idle(),
      lockKeyOf: (role) => config.lockKeys.get(role) ?? null,
    });
    this.membership = this.createMembership();
    const viewed = { name: config.cluster.name, nodeTimeoutMs: config.timing.nodeTimeoutMs };
    this.cluster = viewCluster(store, viewed, this.membership.leadership);
    const members = () => this.membership.news.members;
    const memberMetrics = new ClusterMetrics(registry, prefix, members);
    const upkeep = new Upkeep({ ...parts, trouble: this.trouble, role: (name) => this.role(name) });
    const shown = { trouble: this.trouble, upkeep, members, cluster: this.cluster, work: this.work };
    const room = jobsRoomOf({ ...parts, ...shown, role: () => this.role(jobsRole) });
    store.onRefused(({ role }) => this.observer.fenceRejected(role));
    ({ jobs: this.jobs, crons: this.crons, worker: this.worker, functions: this.functions } = room);
    this.engine = new EngineRoom(this, parts);
    this.alerts = new AlertRoom(this, parts, this.trouble);
    this.metrics = [elections, memberMetrics, queueMetrics, ...room.metrics, this.engine, this.alerts];
    this.draining = new Drain({
      work: this.work,
      clock,
      times: drainTimesOf(config),
      tellStatus: (status) => this.membership.tellStatus(status),
      begun: () => this.emit("draining"),
      giveUpRoles: (withinMs) => this.elector.standDown(withinMs),
    });
    this.elector = electorOf(parts, {
      roles: this.roles,
      observer: this.observer,
      signals: this.signals,
      leadershipChanged: () => this.membership.leadershipChanged(),
      fatal: (error) => this.fatal(error),
    });
  }

  static async start<Tx>(parts: NodeParts<Tx>, signal?: AbortSignal): Promise<HoldfastNode<Tx>> {
    const { store, log } = parts;
    const node = new HoldfastNode(parts);
    try {
      const { answerMs, predecessorMs } = startPatience;
      await awaitDatabase(() => store.prepare(), { ...startPatience, log, signal });
      await node.membership.join(answerMs, predecessorMs, signal);
      await awaitDatabase(() => node.access.refresh(), { ...startPatience, log, signal });
      await firstBeat(node.signals, parts.clock, startPatience, () => {
        store.registry.setStatus("active");
        node.elector.dispatch({ kind: "tick" });
      });
      if (signal?.aborted === true) throw new HoldfastError("CLOSED", "The start was called off.");
      if (hasCrons(parts.config)) node.crons.open();
      return node;
    } catch (error) {
      await node.goodbye();
      await store.close();
      throw error;
    }
  }

  private createMembership(): Membership {
    return new Membership({
      ...this.parts,
      trouble: this.trouble,
      actions: {
        drain: async () => {
          await this.drain();
          if (this.work.accepting) throw new HoldfastError("REFUSED", "The node was resumed before it had drained.");
        },
        resume: () => this.resume(),
        stepDown: (role, to) => this.role(role).stepDown({ to }),
      },
      leadsAnything: () => this.roles.leadsAnything,
      jobs: () => this.work.count + this.worker.running,
      workerNews: (kind) => this.worker.hear(kind),
      contends: () => (this.elector.state.contending ? this.roles.contended : []),
      heard: (leases) => {
        for (const { role } of leases) this.roles.measure(role, () => this.membership.news.lease(role) ?? null);
      },
      configChanged: (version) => this.engine.heard(version),
      accessChanged: (version) =>
        this.access.catchUp(version, (error) => this.trouble("cannot read the tokens", error)),
    });
  }

  /** The same handle for the same name. From the first call on this node contends for the role. */
  role(name: string): RoleHandle<Tx> {
    const role = parseRole(name);
    if (this.closing !== null && this.roles.get(role) === undefined) {
      throw new HoldfastError("CLOSED", "This node has been closed.");
    }
    return this.roles.contend(role);
  }

  /** Where this node stands for a role, the primary one by default. From memory. */
  posture(name: string = this.config.primaryRole): Posture {
    const role = parseRole(name);
    const handle = this.roles.get(role);
    const lease = this.membership.news.lease(role);
    if (handle === undefined && lease === undefined && role !== this.config.primaryRole) {
      throw new HoldfastError("UNKNOWN_ROLE", `Role "${role}" is not known in this cluster.`);
    }
    return postureOf(this.id, {
      isDraining: !this.work.accepting || this.elector.state.roles.get(role)?.term?.phase === "draining",
      isLeader: handle?.gate.isLeader === true,
      isActing: handle?.gate.isActing === true,
      leader: handle === undefined ? leaderOf(lease ?? null) : handle.leader(),
    });
  }

  /** What has to be true before work is sent here. From memory. */
  readiness(): Readiness {
    return readinessOf(this.config, this.membership.news, {
      hasLock: this.elector.state.lock.kind === "open",
      broken: this.broken,
      isClosing: this.closing !== null,
      isDraining: !this.work.accepting,
    });
  }

  /** The version of the shared configuration that this node runs; 0 outside a cluster. From memory. */
  get configVersion(): number {
    return this.engine.version ?? this.membership.configVersion;
  }

  /** How busy this node is, as of its last beat. */
  load(): NodeLoad {
    return this.membership.lastLoad;
  }

  /** Tells how many connections are open, for the node's load. From then on its metrics are there for others, too. @internal */
  countConnections(read: () => number): void {
    this.membership.countConnections(read, () => this.registry.metrics());
    this.alerts.open();
  }

  /** The metrics of every living node as each of them last left them; this node's are current. */
  async clusterMetrics(): Promise<string> {
    const others = await this.membership.snapshotsOfOthers(await this.cluster.nodes());
    const nodes = [{ nodeId: this.id, text: await this.registry.metrics() }, ...others];
    return await clusterText(this.parts.store.metrics, this.config.metrics.prefix, nodes);
  }

  /** Stops admitting work, waits for what is under way (bounded), then gives up every role. The node stays a follower. */
  async drain(): Promise<void> {
    await Promise.all([this.draining.run(), this.worker.rest()]);
  }

  /** Takes a drain back: admits work, and contends again. */
  resume(): void {
    if (this.closing !== null) throw new HoldfastError("CLOSED", `Node "${this.id}" is stopping and cannot resume.`);
    if (this.broken !== null) throw new HoldfastError(this.broken, `Node "${this.id}" cannot resume: restart it.`);
    this.draining.takeBack();
    this.worker.reconsider();
    this.elector.dispatch({ kind: "candidacy", on: this.config.cluster.leaderElection.enabled });
  }

  /** Drains, leaves the registry, and closes every connection. */
  close(): Promise<void> {
    this.closing ??= this.shutDown();
    return this.closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  private async shutDown(): Promise<void> {
    this.stopping.abort();
    this.membership.leaveCopies();
    try {
      await Promise.all([this.drain(), this.alerts.close()]);
      const line = { node_id: this.id, under_way: this.work.count };
      if (line.under_way > 0) this.log.warn(line, "the drain ran out of time: work is left unfinished");
    } finally {
      await this.goodbye();
      await this.parts.store.close();
      await this.parts.afterClose();
    }
  }

  /** Leaves the registry before the sessions end: from then on their end means nothing (R9). */
  private async goodbye(): Promise<void> {
    this.elector.dispatch({ kind: "halt" });
    this.membership.stop();
    this.worker.close();
    for (const metrics of this.metrics) metrics.remove();
    try {
      await this.parts.store.registry.leave();
    } catch (error) {
      // The database is away: the lease runs out by itself, and the row goes stale.
      this.log.warn({ err: error, node_id: this.id }, "could not say goodbye to the database");
    }
    await this.elector.stop();
  }

  private fatal(error: HoldfastError): void {
    if (this.signals.emit("failed", error)) return; // The start is waiting, and decides.
    if (this.broken !== null) return;
    this.broken = error.code;
    this.log.error({ node_id: this.id, reason: error.code }, `${error.message} This node contends no more.`);
    this.elector.dispatch({ kind: "candidacy", on: false });
    queueMicrotask(() => this.emit("failed", error));
  }
}
