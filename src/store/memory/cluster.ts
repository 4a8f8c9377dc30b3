import { EventEmitter } from "node:events";
import type { AuditRow } from "../../access/audit.js";
import type { TokenRow } from "../../access/token.js";
import type { Notice } from "../../election/core/messages.js";
import type { Incarnation, NodeId, Role, SessionRef } from "../../election/core/names.js";
import type { Json } from "../../jobs/core/job.js";
import type { NodeRequest } from "../../membership/node-request.js";
import type { NodeRow } from "../../membership/node-row.js";
import type { ConnectionRow } from "../connection-contract.js";
import { MemoryAlertTables } from "./alert-tables.js";
import { MemoryCronTables } from "./cron-tables.js";
import type { MemoryDatabase } from "./database.js";
import { MemoryEngineTables } from "./engine-tables.js";
import { MemoryJobTables } from "./job-tables.js";
import { MemoryMetricsTables } from "./metrics-tables.js";
import { MemoryQueueTables } from "./queue-tables.js";

export interface MemoryWorkerOrder {
  readonly nodeId: string;
  readonly incarnation: string;
  readonly body: Json;
  readonly answer: Json;
}

export type NoticeListener = (role: Role, notice: Notice) => void;

/** What the nodes of one database in memory share beside the leases. */
export class MemoryCluster {
  readonly nodes = new Map<string, NodeRow & { readonly lockSession: SessionRef | null }>();
  readonly requests: NodeRequest[] = [];
  readonly tokens: TokenRow[] = [];
  readonly audit: AuditRow[] = [];
  /** That were ever written. */
  auditLines = 0;
  /** By process: what one has counted is not lost because its successor has left a copy. */
  readonly snapshots = new Map<Incarnation, { readonly nodeId: NodeId; readonly at: number; readonly text: string }>();
  accessVersion = 0;
  readonly listeners = new Set<NoticeListener>();
  readonly requested = new EventEmitter<{ requested: [nodeId: string]; order: []; answer: [nodeId: string] }>();
  readonly workerOrders = new Map<string, MemoryWorkerOrder>();
  readonly engine: MemoryEngineTables;
  readonly connections = new Map<string, ConnectionRow>();
  readonly queues: MemoryQueueTables;
  readonly jobs: MemoryJobTables;
  readonly crons = new MemoryCronTables();
  readonly metrics = new MemoryMetricsTables();
  readonly alerts = new MemoryAlertTables();
  readonly database: MemoryDatabase;
  /** Ends a wait after its slice; the tests' clock stands behind it. */
  readonly wakeAfter: (ms: number, fire: () => void) => () => void;

  constructor(database: MemoryDatabase, wakeAfter: (ms: number, fire: () => void) => () => void) {
    this.database = database;
    this.requested.setMaxListeners(0);
    this.engine = new MemoryEngineTables(() => database.now());
    this.queues = new MemoryQueueTables(() => database.now(), this.engine);
    this.jobs = new MemoryJobTables(
      () => database.now(),
      () => `${database.identity}`,
    );
    this.wakeAfter = wakeAfter;
  }

  /** Whether this process is the one that its node is now, and lives. */
  isLiving(nodeId: NodeId, incarnation: Incarnation): boolean {
    const node = this.nodes.get(nodeId);
    return node?.incarnation === incarnation && node.status !== "dead" && node.status !== "left";
  }

  announce(role: Role, notice: Notice): void {
    for (const listener of this.listeners) queueMicrotask(() => listener(role, notice));
  }
}
