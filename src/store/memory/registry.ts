import type { SessionRef } from "../../election/core/names.js";
import { HoldfastError, invariant } from "../../errors.js";
import {
  countByStatus,
  type NodeLoad,
  type NodeReport,
  type NodeRow,
  type NodeStatus,
  noLoad,
  statusNow,
} from "../../membership/node-row.js";
import type { Registry, StoreNews, TidyReport, TidyRules } from "../contract.js";
import type { MemoryCluster } from "./cluster.js";

/** Who is here, in memory. */
export class MemoryRegistry implements Registry {
  private readonly shared: MemoryCluster;
  private readonly nodeTimeoutMs: number;
  private report: NodeReport | null = null;
  private readLoad: () => NodeLoad = () => noLoad;
  private listener: (news: StoreNews) => void = () => undefined;

  constructor(shared: MemoryCluster, nodeTimeoutMs: number) {
    this.shared = shared;
    this.nodeTimeoutMs = nodeTimeoutMs;
  }

  async join(report: NodeReport): Promise<void> {
    const known = this.shared.nodes.get(report.nodeId);
    const alive =
      known !== undefined &&
      known.incarnation !== report.incarnation &&
      this.shared.database.isAlive(known.lockSession);
    if (alive && known.status !== "left") {
      throw new HoldfastError(
        "NODE_ID_TAKEN",
        `Node id "${report.nodeId}" is taken by pid ${known.pid} on ${known.hostname}.`,
      );
    }
    this.report = report;
    const now = this.shared.database.now();
    const times = { startedAt: now, lastHeartbeat: now, heartbeatAgeMs: 0 };
    this.shared.nodes.set(report.nodeId, { ...report, ...noLoad, ...times, lockSession: null });
    await Promise.resolve();
  }

  setStatus(status: NodeStatus): void {
    if (this.report !== null) this.report = { ...this.report, status };
  }

  async publishStatus(): Promise<void> {
    const { report } = this;
    const known = this.shared.nodes.get(report?.nodeId ?? "");
    if (report !== null && known?.incarnation === report.incarnation) {
      this.shared.nodes.set(report.nodeId, { ...known, status: report.status });
    }
    await Promise.resolve();
  }

  reportLoad(read: () => NodeLoad): void {
    this.readLoad = read;
  }

  follow(listener: (news: StoreNews) => void): void {
    this.listener = listener;
    this.shared.requested.on("requested", (nodeId: string) => {
      if (nodeId === this.report?.nodeId) this.listener({ kind: "requested" });
    });
    this.shared.requested.on("order", () => this.listener({ kind: "worker_order" }));
    this.shared.requested.on("answer", (nodeId: string) => {
      if (nodeId === this.report?.nodeId) this.listener({ kind: "worker_answer" });
    });
  }

  get holder(): { nodeId: NodeReport["nodeId"]; incarnation: NodeReport["incarnation"]; url: string | null } {
    invariant(this.report !== null, "a session was used before the node joined");
    const { nodeId, incarnation, url } = this.report;
    return { nodeId, incarnation, url };
  }

  /** The registry's part of a beat. */
  beat(lockSession: SessionRef | null): void {
    const { report } = this;
    if (report === null || (lockSession !== null && report.status === "left")) return;
    const now = this.shared.database.now();
    const startedAt = this.shared.nodes.get(report.nodeId)?.startedAt ?? now;
    const times = { startedAt, lastHeartbeat: now, heartbeatAgeMs: 0 };
    this.shared.nodes.set(report.nodeId, { ...report, ...this.readLoad(), ...times, lockSession });
  }

  /** After the elections of the beat. */
  tell(): void {
    const { holder, shared } = this;
    this.listener({
      kind: "beat",
      members: countByStatus(this.rows().map((node) => ({ status: statusNow(node, this.nodeTimeoutMs) }))),
      leases: shared.database.views(),
      accessVersion: shared.accessVersion,
      configVersion: shared.engine.configVersion,
      requests: shared.requests.filter(
        ({ incarnation, actedAt }) => incarnation === holder.incarnation && actedAt === null,
      ),
    });
  }

  async leave(): Promise<void> {
    if (this.report === null) return;
    this.setStatus("left");
    this.beat(null);
    this.shared.database.leave(this.holder);
    await Promise.resolve();
  }

  async nodes(): Promise<readonly NodeRow[]> {
    return await Promise.resolve(this.rows());
  }

  async node(id: string): Promise<NodeRow | null> {
    return await Promise.resolve(this.rows().find((node) => node.nodeId === id) ?? null);
  }

  private rows(): NodeRow[] {
    const now = this.shared.database.now();
    return [...this.shared.nodes.values()]
      .map(({ lockSession, ...row }) => ({ ...row, heartbeatAgeMs: now - row.lastHeartbeat }))
      .sort((a, b) => (a.nodeId < b.nodeId ? -1 : 1));
  }

  async tidy(rules: TidyRules): Promise<TidyReport> {
    const { nodes } = this.shared;
    const now = this.shared.database.now();
    const silentFor = (node: NodeRow, ms: number): boolean => now - node.lastHeartbeat > ms;
    const isOver = ({ status }: NodeRow): boolean => status === "dead" || status === "left";
    const died = [...nodes.values()].filter(
      (node) => rules.markDead && !isOver(node) && silentFor(node, rules.nodeTimeoutMs),
    );
    for (const node of died) nodes.set(node.nodeId, { ...node, status: "dead" });
    const forgotten = [...nodes.values()].filter((node) => silentFor(node, rules.forgetAfterMs));
    for (const node of forgotten) nodes.delete(node.nodeId);
    return await Promise.resolve({
      died: died.map((node) => node.nodeId),
      forgotten: forgotten.map((node) => node.nodeId),
    });
  }
}
