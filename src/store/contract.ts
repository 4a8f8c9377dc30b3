import type { AuditEntry, AuditRow } from "../access/audit.js";
import type { TokenOrder, TokenRow } from "../access/token.js";
import type { EndReason, SessionPath } from "../election/core/elector-state.js";
import type { LeaseView, NodeSessions, Sighting } from "../election/core/lease.js";
import type { AcquireRequest } from "../election/core/lease-rules.js";
import type { AcquireReply, BeatOrder, BeatReply, Notice, WaitReply } from "../election/core/messages.js";
import type { DatabaseIdentity, Epoch, NodeId, Role, SessionRef } from "../election/core/names.js";
import type { NodeRequest, RequestOrder, RequestOutcome } from "../membership/node-request.js";
import type { MemberCounts, NodeLoad, NodeReport, NodeRow, NodeStatus } from "../membership/node-row.js";
import type { AlertBook } from "./alert-contract.js";
import type { CompactionBook } from "./compaction-contract.js";
import type { ConnectionBook } from "./connection-contract.js";
import type { CronBook } from "./cron-contract.js";
import type { EngineBook } from "./engine-contract.js";
import type { FenceToken } from "./fence-token.js";
import type { JobBook } from "./job-contract.js";
import type { MetricsBook } from "./metrics-contract.js";
import type { OpenOutside } from "./outside-contract.js";
import type { Page } from "./page.js";
import type { QueueBook } from "./queue-contract.js";
import type { QueueView } from "./queue-view-contract.js";
import type { WorkerBook } from "./worker-contract.js";

export type { FenceToken, Page };

/**
 * What Holdfast needs of a database, in its own words. No SQL, no driver and no error code of a dialect passes this line:
 * a store turns its failures into `HoldfastError`s, and a reply that was lost into a rejected promise.
 *
 * What every store must keep is written down in docs/guides/new-store.md, and tested by one suite (test/contract).
 */
export interface Store<Tx> extends ElectionSessions {
  readonly registry: Registry;
  readonly requests: RequestBook;
  readonly access: AccessBook;
  readonly snapshots: SnapshotBook;
  readonly queue: QueueBook;
  readonly queueView: QueueView;
  readonly jobs: JobBook;
  readonly crons: CronBook;
  readonly workers: WorkerBook;
  readonly engine: EngineBook;
  readonly connections: ConnectionBook;
  /** A database that is not ours, for connections and reference sets whose other end is one. */
  readonly openOutside: OpenOutside;
  readonly metrics: MetricsBook;
  readonly alerts: AlertBook;
  readonly compaction: CompactionBook;
  /** Brings the schema up, or checks it, and refuses one that belongs to another cluster. */
  prepare(): Promise<void>;
  /** Makes the rows of these roles exist. */
  ensureRoles(roles: readonly RoleOrder[]): Promise<void>;
  leases(): Promise<readonly LeaseView[]>;
  history(filter: HistoryFilter): Promise<readonly Transition[]>;

  /**
   * Runs `fn` in a transaction that commits only while `epoch` leads the role (R8). `Tx` is whatever the database's own
   * driver calls a transaction; Holdfast only passes it on.
   */
  transaction<Result>(fence: FenceToken, fn: (tx: Tx) => Promise<Result>): Promise<Result>;
  /** Told of each write by one of the books that the fence has refused; whoever runs a transaction hears of its own. */
  onRefused(listener: (fence: FenceToken) => void): void;
  /** Asks the database whether this very term still holds the lease. */
  verify(fence: FenceToken): Promise<boolean>;
  /** For after a restore from a dump: raises the epoch above every token that the lost database may have given. */
  advanceEpoch(role: Role, to: Epoch): Promise<Epoch>;
  close(): Promise<void>;
}

/** Who is here. The heartbeat itself is part of the beat (R12). */
export interface Registry {
  /** Enters the node in the registry. Refused where another living process has its id. */
  join(report: NodeReport): Promise<void>;
  /** The status that the next beats report. */
  setStatus(status: NodeStatus): void;
  /** Says it without waiting for the next beat. */
  publishStatus(): Promise<void>;
  /** Asked at every beat. */
  reportLoad(read: () => NodeLoad): void;
  /** Told after every answered beat, and when somebody asks something of this node. */
  follow(listener: (news: StoreNews) => void): void;
  /** A clean stop leaves a tombstone. */
  leave(): Promise<void>;
  nodes(): Promise<readonly NodeRow[]>;
  node(id: string): Promise<NodeRow | null>;
  /** Marks the silent as dead, and forgets what is older than it has to be kept. Any node may, as often as it likes. */
  tidy(rules: TidyRules): Promise<TidyReport>;
}

export type StoreNews =
  | {
      readonly kind: "beat";
      readonly members: MemberCounts;
      readonly leases: readonly LeaseView[];
      /** Raised by every change of a token; the node then reads them again. */
      readonly accessVersion: number;
      readonly configVersion: number;
      readonly requests: readonly NodeRequest[];
    }
  | { readonly kind: "requested" }
  /** There is something new for the leader of `scheduler`, or for this node, in the workers' book. */
  | { readonly kind: "worker_order" | "worker_answer" };

export interface TidyRules {
  readonly nodeTimeoutMs: number;
  readonly markDead: boolean;
  readonly forgetAfterMs: number;
  /** 0 keeps everything. */
  readonly historyDays: number;
  readonly auditDays: number;
}

export interface TidyReport {
  readonly died: readonly NodeId[];
  readonly forgotten: readonly NodeId[];
}

/** What nodes ask of each other, as rows. */
export interface RequestBook {
  /** Refused where nobody is there to act. */
  send(order: RequestOrder, nodeTimeoutMs: number): Promise<NodeRequest>;
  read(id: string): Promise<NodeRequest | null>;
  /** What waits for this very process. */
  pending(): Promise<readonly NodeRequest[]>;
  answer(id: string, outcome: RequestOutcome): Promise<void>;
}

/** Who may do what, and who did. */
export interface AccessBook {
  /** All of them, those that were revoked or have expired too: a node keeps the list in memory. */
  tokens(): Promise<TokenList>;
  createToken(order: TokenOrder): Promise<TokenRow>;
  /** Null where there is no such token. */
  revokeToken(id: string): Promise<TokenRow | null>;
  /** Written before what it tells of, so that nothing is done without a line; the outcome follows. Answers with its id. */
  beginAudit(entry: AuditEntry): Promise<string>;
  /** `target`: where it is known only now. */
  finishAudit(id: string, outcome: string, target: string | null): Promise<void>;
  /** Newest first, before the cursor. */
  audit(page: Page): Promise<readonly AuditRow[]>;
}

export interface TokenList {
  /** The database's clock at the reading, in milliseconds since 1970: expiry is judged by it. */
  readonly now: number;
  readonly accessVersion: number;
  readonly tokens: readonly TokenRow[];
}

/** Each node leaves a copy of its metrics, so that any of them can answer for all. */
export interface SnapshotBook {
  save(text: string): Promise<void>;
  /** Of those that are not known to be gone. */
  all(): Promise<readonly MetricsSnapshot[]>;
}

export interface MetricsSnapshot {
  readonly nodeId: NodeId;
  readonly ageMs: number;
  readonly text: string;
}

export interface HistoryFilter extends Page {
  readonly role?: Role;
}

/** The connections that elections run over, each of its own. */
export interface ElectionSessions {
  openLock(events: SessionEvents): Promise<LockSession>;
  openWitness(events: SessionEvents & { notice(role: Role, notice: Notice): void }): Promise<WitnessSession>;
  openCampaign(role: Role, events: SessionEvents): Promise<CampaignSession>;
}

export interface RoleOrder {
  readonly role: Role;
  /** The role's advisory key, where the operator pins it. */
  readonly lockKey: bigint | null;
}

export interface SessionEvents {
  /** The connection ended, for whatever reason, and can no longer be used. Not called after `close`. */
  closed(reason: string): void;
}

interface Session {
  /** Null where the database cannot tell this session from others (a pooler). */
  readonly ref: SessionRef | null;
  readonly path: SessionPath;
  /** Ends the connection at once, whatever it is doing. */
  close(): void;
}

/** The session that beats, and whose end tells a crash: it holds the locks. */
export interface LockSession extends Session {
  readonly identity: DatabaseIdentity | null;
  beat(orders: readonly BeatOrder[], sessions: NodeSessions): Promise<BeatReply>;
  /** Proves that the session is alive, and nothing else. */
  pulse(): Promise<void>;
  release(order: ReleaseOrder): Promise<void>;
}

export interface ReleaseOrder {
  readonly role: Role;
  readonly epoch: Epoch;
  readonly to: NodeId | null;
  readonly reserveMs: number;
  readonly dropLock: boolean;
  readonly reason: EndReason;
}

/** A second session of the same process. It hears notices, and ends the sessions of frozen nodes. */
export interface WitnessSession extends Session {
  reap(roles: readonly Role[], nodeTimeoutMs: number): Promise<ReapReport>;
}

export interface ReapReport {
  readonly ended: number;
  /** Sessions that should have been ended, where the database role may not. */
  readonly refused: number;
}

export interface CampaignSession extends Session {
  wait(prior: Sighting | null, sliceMs: number): Promise<WaitReply>;
  acquire(request: AcquireRequest, timeoutMs: number): Promise<AcquireReply>;
}

/** One line of a role's history. */
export interface Transition {
  readonly id: string;
  readonly role: Role;
  readonly epoch: Epoch;
  readonly event: "elected" | "released" | "quarantined" | "advanced";
  readonly reason: string;
  readonly nodeId: NodeId | null;
  readonly previousNodeId: NodeId | null;
  /** How long the role had no leader, as far as the database can tell. */
  readonly gapMs: number | null;
  /** Milliseconds since 1970, by the database's clock. */
  readonly at: number;
}
