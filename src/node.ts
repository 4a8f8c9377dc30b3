import { EventEmitter } from "node:events";
import { type Logger, pino } from "pino";
import { Registry } from "prom-client";
import type { Catalogue } from "./config/catalogue.js";
import { type Config, type ConfigOptions, resolveConfig } from "./config/config.js";
import type { Given } from "./config/shape.js";
import { type Clock, systemClock } from "./election/clock.js";
import { type ElectorState, isEngaged } from "./election/core/elector-state.js";
import type { LinkName } from "./election/core/messages.js";
import { parseRole, type Role } from "./election/core/names.js";
import { Elector } from "./election/elector.js";
import { electorSettingsOf } from "./election/elector-settings.js";
import { RoleHandle } from "./election/role.js";
import { type ErrorCode, HoldfastError } from "./errors.js";
import { InFlightWork } from "./lifecycle/in-flight.js";
import { retryWhileAway, within } from "./lifecycle/retry.js";
import { type ClusterView, viewCluster } from "./membership/cluster-view.js";
import { reportOf } from "./membership/node-report.js";
import type { NodeReport } from "./membership/node-row.js";
import type { LockSession, Store } from "./store/contract.js";
import { type EmbeddedServer, startEmbedded } from "./store/embedded/server.js";
import { connectionOf, connectionOfPool } from "./store/postgres/connection.js";
import { type PostgresPool, PostgresStore, type PostgresTransaction } from "./store/postgres/store.js";
import { ElectionObserver } from "./telemetry/election-observer.js";
import { ElectionMetrics } from "./telemetry/metrics.js";

export type { PostgresPool, PostgresTransaction } from "./store/postgres/store.js";

export interface NodeOptions extends Omit<ConfigOptions, "store"> {
  readonly store?: Given<Catalogue["store"]> & { readonly pool?: PostgresPool | undefined };
  /** Your own pino logger; without it one is made that writes to standard output. */
  readonly logger?: Logger | undefined;
  /** Your own prom-client registry. */
  readonly registry?: Registry | undefined;
}

/** A node outside of PostgreSQL: the tests' store in memory, with its own clock. */
export interface NodeParts<Tx> {
  readonly config: Config;
  readonly report: NodeReport;
  readonly store: Store<Tx>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly registry: Registry;
  /** Runs after everything else has been closed. */
  readonly afterClose: () => Promise<void>;
}

/** How long a start waits for a database that is away, or for a predecessor whose sessions still linger. */
const startPatienceMs = 10_000;
const predecessorPatienceMs = 2_000;

/** Starts a node: reads no file and no environment, binds no port. Resolves when it has joined. */
export async function createNode(options: NodeOptions = {}): Promise<HoldfastNode<PostgresTransaction>> {
  const { logger, registry, store: storeOptions, ...rest } = options;
  const { pool, ...given } = storeOptions ?? {};
  const config = resolveConfig({ ...rest, store: given }, pool !== undefined);
  const log = logger ?? pino({ name: "holdfast" });
  const server = config.backend === "embedded" ? await startEmbedded({ dataDir: config.store.dataDir }) : null;
  try {
    const report = reportOf(config);
    const store = openStore(config, { report, pool: pool ?? null, server, log });
    const parts: NodeParts<PostgresTransaction> = {
      config,
      report,
      store,
      clock: systemClock,
      random: Math.random,
      log,
      registry: registry ?? new Registry(),
      afterClose: async () => await server?.stop(),
    };
    return await HoldfastNode.start(parts);
  } catch (error) {
    await server?.stop();
    throw error;
  }
}

function openStore(
  config: Config,
  given: { report: NodeReport; pool: PostgresPool | null; server: EmbeddedServer | null; log: Logger },
): PostgresStore {
  const { report, pool, server, log } = given;
  const url = server?.url ?? config.store.url.reveal();
  const connection = pool !== null && url === "" ? connectionOfPool(pool) : connectionOf(config, url);
  const { electionUrl } = config.store;
  return new PostgresStore({
    connection,
    electionConnection: electionUrl.isEmpty ? connection : connectionOf(config, electionUrl.reveal()),
    pool,
    poolSize: config.store.poolSize,
    schema: config.store.schema,
    cluster: config.cluster.name,
    migrate: config.store.migrate,
    timing: config.timing,
    node: report,
    warn: (message, details) => log.warn(details, message),
  });
}

/** One process of the cluster. It wires the rooms together; each of them is tested without it. */
export class HoldfastNode<Tx> extends EventEmitter<{ draining: [] }> implements AsyncDisposable {
  readonly id: string;
  readonly work = new InFlightWork();
  readonly registry: Registry;
  readonly cluster: ClusterView;
  private readonly parts: NodeParts<Tx>;
  private readonly report: NodeReport;
  private readonly elector: Elector;
  private readonly observer: ElectionObserver;
  private readonly metrics: ElectionMetrics;
  private readonly roles = new Map<Role, RoleHandle<Tx>>();
  private readonly stopping = new AbortController();
  private readonly signals = new EventEmitter<{ beaten: []; failed: [HoldfastError]; stepped: [] }>();
  private closing: Promise<void> | null = null;

  private constructor(parts: NodeParts<Tx>) {
    super();
    const { config } = parts;
    this.parts = parts;
    this.registry = parts.registry;
    this.report = parts.report;
    this.id = this.report.nodeId;
    this.metrics = new ElectionMetrics(parts.registry, config.metrics.prefix);
    this.observer = new ElectionObserver({
      log: parts.log,
      metrics: this.metrics,
      nodeId: this.report.nodeId,
      clock: parts.clock,
    });
    this.cluster = viewCluster(parts.store, config.cluster.name);
    this.elector = this.createElector();
  }

  static async start<Tx>(parts: NodeParts<Tx>): Promise<HoldfastNode<Tx>> {
    const node = new HoldfastNode(parts);
    try {
      await retryWhileAway(() => parts.store.prepare(), startPatienceMs);
      const taken = parts.config.timing.nodeTimeoutMs + predecessorPatienceMs;
      await retryWhileAway(() => parts.store.join(node.report), startPatienceMs, [["NODE_ID_TAKEN", taken]]);
      await node.firstBeat();
      return node;
    } catch (error) {
      await node.goodbye();
      await parts.store.close();
      throw error;
    }
  }

  private createElector(): Elector {
    const { config, store, clock, random } = this.parts;
    const settings = electorSettingsOf(config, this.report);
    const { observer } = this;
    return new Elector({
      sessions: store,
      settings,
      contending: config.cluster.leaderElection.enabled,
      clock,
      random,
      events: {
        elected: (effect) => this.roles.get(effect.role)?.onElected(effect),
        draining: (effect) => this.roles.get(effect.role)?.onDraining(effect),
        ended: (effect) => this.roles.get(effect.role)?.onEnded(effect),
        changed: (effect) => this.roles.get(effect.role)?.onChanged(effect.view),
        evidenceRefused: (effect) => observer.evidenceRefused(effect.role, effect.reason),
        stepped: (state) => this.onStepped(state),
        linkOpened: (link, session) => this.onLinkOpened(link, session as LockSession),
        linkFailed: (link, error) => this.onFailure(() => observer.linkFailed(link, error), error),
        beaten: (durationMs) => {
          observer.beaten(durationMs);
          this.signals.emit("beaten");
        },
        requestFailed: (what, error) => this.onFailure(() => observer.trouble(`a ${what} failed`, error), error),
        acquireReplied: (role, reply, durationMs) => observer.acquireReplied(role, reply, durationMs),
        reaped: (report) => observer.reaped(report),
      },
    });
  }

  /** The same handle for the same name. From the first call on this node contends for the role. */
  role(name: string): RoleHandle<Tx> {
    const role = parseRole(name);
    const known = this.roles.get(role);
    if (known !== undefined) return known;
    if (this.closing !== null) throw new HoldfastError("CLOSED", "This node has been closed.");
    const { store, clock } = this.parts;
    const { elector, observer } = this;
    const handle = new RoleHandle<Tx>({
      name: role,
      elector,
      store,
      holder: elector.state.settings.holder,
      clock,
      observer,
    });
    this.roles.set(role, handle);
    observer.addRole(
      role,
      () => handle.gate.isLeader,
      () => elector.state,
    );
    this.ensureRole(role);
    return handle;
  }

  /** Makes the role's row exist, however long that takes, and contends from then on. */
  private ensureRole(role: Role): void {
    const { store, config } = this.parts;
    const order = { role, lockKey: config.lockKeys.get(role) ?? null };
    const always = Number.POSITIVE_INFINITY;
    const passing = [
      ["DATABASE_READ_ONLY", always],
      ["DATABASE_REFUSED", always],
    ] as const;
    retryWhileAway(() => store.ensureRoles([order]), always, passing, this.stopping.signal)
      .then(() => this.elector.dispatch({ kind: "contend", role }))
      .catch((error: unknown) => this.observer.trouble(`cannot contend for role ${role}`, error));
  }

  /** Stops admitting work, waits for what is under way (bounded), then gives up every role. The node stays a follower. */
  async drain(): Promise<void> {
    if (this.work.accepting) {
      this.work.refuse();
      this.parts.store.setStatus("draining");
      // After this step: what a listener throws is its owner's, and must not stop the drain.
      queueMicrotask(() => this.emit("draining"));
    }
    await within(this.parts.config.timing.drainTimeoutMs, this.work.idle());
    this.elector.dispatch({ kind: "candidacy", on: false });
    while ([...this.elector.state.roles.values()].some(isEngaged)) {
      await new Promise<void>((resolve) => this.signals.once("stepped", resolve));
    }
    await this.elector.released();
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
    const { store, afterClose } = this.parts;
    this.stopping.abort();
    try {
      await this.drain();
    } finally {
      await this.goodbye();
      await store.close();
      await afterClose();
    }
  }

  /** Leaves the registry before the sessions end: from then on their end means nothing (R9). */
  private async goodbye(): Promise<void> {
    const { store, log } = this.parts;
    this.elector.dispatch({ kind: "halt" });
    this.metrics.remove();
    try {
      await store.leave();
    } catch (error) {
      // The database is away: the lease runs out by itself, and the row goes stale.
      log.warn({ err: error, node_id: this.id }, "could not say goodbye to the database");
    }
    await this.elector.stop();
  }

  private onStepped(state: ElectorState): void {
    for (const role of this.roles.values()) role.onStepped(state);
    this.observer.stepped(state);
    // After the effects of the step have been carried out.
    queueMicrotask(() => this.signals.emit("stepped"));
  }

  private onLinkOpened(link: LinkName, session: LockSession): void {
    if (link.kind !== "lock") return;
    const { log, config } = this.parts;
    if (session.path === "pooled" && config.insistsOnEvidence) {
      const message =
        'A pooler stands between this node and the database, so cluster.leader_election.takeover = "evidence" cannot work: ' +
        'set store.election_url to a direct connection, or takeover = "lease".';
      this.fatal(new HoldfastError("POOLER_DETECTED", message));
    } else if (session.path === "pooled") {
      log.warn(
        { node_id: this.id },
        "a pooler stands before the database: crashes are waited out for the lease TTL; set store.election_url",
      );
    } else if (session.path === "proxied") {
      log.warn(
        { node_id: this.id },
        "a proxy or NAT stands before the database: crash evidence gets a grace of 250 ms",
      );
    }
    if (session.identity === null) {
      log.warn(
        { node_id: this.id },
        "the database's identity cannot be read: epochs may repeat if it fails over to a replica that lost commits",
      );
    }
  }

  /** Some failures no retry mends: another process has this node's place. */
  private onFailure(tell: () => void, error: unknown): void {
    tell();
    if (!(error instanceof HoldfastError)) return;
    if (error.code === "UNKNOWN_ROLE") for (const role of this.roles.keys()) this.ensureRole(role); // The row was lost.
    if (lasting.has(error.code)) this.fatal(error);
  }

  private fatal(error: HoldfastError): void {
    if (this.signals.emit("failed", error)) return; // The start is waiting, and decides.
    this.parts.log.error({ node_id: this.id, reason: error.code }, `${error.message} This node contends no more.`);
    this.elector.dispatch({ kind: "candidacy", on: false });
  }

  /** Resolves with the first answered beat, rejects with what no retry mends. */
  private async firstBeat(): Promise<void> {
    const deadline = this.parts.clock.mono() + predecessorPatienceMs;
    const joined = new Promise<void>((resolve, reject) => {
      this.signals.once("beaten", resolve);
      this.signals.on("failed", (error) => {
        // The sessions of a predecessor that was killed a moment ago may linger.
        if (error.code !== "SCHEMA_IN_USE" || this.parts.clock.mono() >= deadline) reject(error);
      });
    });
    this.parts.store.setStatus("active");
    this.elector.dispatch({ kind: "tick" });
    try {
      await within(startPatienceMs, joined, () => {
        throw new HoldfastError("DATABASE_AWAY", "The database did not answer the first beat within 10 s.");
      });
    } finally {
      this.signals.removeAllListeners("failed");
    }
  }
}

const lasting: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["SCHEMA_IN_USE", "NODE_ID_TAKEN", "SCHEMA_TOO_NEW"]);
