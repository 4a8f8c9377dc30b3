import type { AuditEntry } from "../../access/audit.js";
import type { TokenOrder, TokenRow } from "../../access/token.js";
import { HoldfastError } from "../../errors.js";
import type { NodeRequest, RequestOrder } from "../../membership/node-request.js";
import { statusNow } from "../../membership/node-row.js";
import type { AccessBook, MetricsSnapshot, Page, RequestBook, SnapshotBook } from "../contract.js";
import type { MemoryCluster } from "./cluster.js";
import type { MemoryRegistry } from "./registry.js";

/** Requests, tokens, audit and snapshots in memory. */

export function memoryRequests(shared: MemoryCluster, registry: MemoryRegistry): RequestBook {
  const find = (id: string): number => shared.requests.findIndex((request) => request.id === id);
  return {
    async send(order, nodeTimeoutMs) {
      const node = await registry.node(targetOf(shared, order));
      if (node === null) throw new HoldfastError("UNKNOWN_NODE", `There is no node ${order.nodeId} in this cluster.`);
      const status = statusNow(node, nodeTimeoutMs);
      if (status === "dead" || status === "left") {
        throw new HoldfastError("NODE_GONE", `Node ${node.nodeId} is ${status}, so nobody is there to act.`);
      }
      const request: NodeRequest = {
        ...order,
        id: `${shared.requests.length + 1}`,
        nodeId: node.nodeId,
        incarnation: node.incarnation,
        requestedAt: shared.database.now(),
        actedAt: null,
        outcome: null,
      };
      shared.requests.push(request);
      queueMicrotask(() => shared.requested.emit("requested", node.nodeId));
      return request;
    },
    read: async (id) => await Promise.resolve(shared.requests[find(id)] ?? null),
    async pending() {
      const { incarnation } = registry.holder;
      return await Promise.resolve(
        shared.requests.filter((request) => request.incarnation === incarnation && request.actedAt === null),
      );
    },
    async answer(id, outcome) {
      const asked = shared.requests[find(id)];
      if (asked?.actedAt === null) shared.requests[find(id)] = { ...asked, actedAt: shared.database.now(), outcome };
      await Promise.resolve();
    },
  };
}

function targetOf(shared: MemoryCluster, order: RequestOrder): string {
  if (order.kind !== "step_down" || order.role === null) return order.nodeId ?? "";
  if (!shared.database.leases.has(order.role)) {
    throw new HoldfastError("UNKNOWN_ROLE", `Role ${order.role} is not known here.`);
  }
  const { holder, remainingMs } = shared.database.view(order.role);
  if (holder === null || remainingMs <= 0) throw new HoldfastError("NO_LEADER", `Nobody leads role ${order.role} now.`);
  return holder;
}

export function memoryAccess(shared: MemoryCluster, registry: MemoryRegistry): AccessBook {
  return {
    tokens: async () =>
      await Promise.resolve({
        now: shared.database.now(),
        accessVersion: shared.accessVersion,
        tokens: [...shared.tokens],
      }),
    async createToken(order: TokenOrder): Promise<TokenRow> {
      const { lifetimeMs, ...rest } = order;
      const now = shared.database.now();
      const taken = shared.tokens.some(
        (token) =>
          token.name === order.name && token.revokedAt === null && (token.expiresAt === null || token.expiresAt > now),
      );
      if (taken) throw new HoldfastError("REFUSED", `There is a token named "${order.name}" already.`);
      const token: TokenRow = {
        ...rest,
        id: `${shared.tokens.length + 1}`,
        createdAt: now,
        expiresAt: lifetimeMs === null ? null : now + lifetimeMs,
        revokedAt: null,
      };
      shared.tokens.push(token);
      shared.accessVersion += 1;
      return await Promise.resolve(token);
    },
    async revokeToken(id: string): Promise<TokenRow | null> {
      const index = shared.tokens.findIndex((token) => token.id === id);
      const token = shared.tokens[index];
      if (token === undefined) return await Promise.resolve(null);
      const revoked = { ...token, revokedAt: token.revokedAt ?? shared.database.now() };
      shared.tokens[index] = revoked;
      shared.accessVersion += 1;
      return revoked;
    },
    async beginAudit(entry: AuditEntry): Promise<string> {
      const { nodeId } = registry.holder;
      shared.auditLines += 1;
      const id = `${shared.auditLines}`;
      shared.audit.push({ ...entry, outcome: "begun", id, nodeId, at: shared.database.now() });
      return await Promise.resolve(id);
    },
    async finishAudit(id: string, outcome: string, target: string | null): Promise<void> {
      const index = shared.audit.findIndex((line) => line.id === id);
      const line = shared.audit[index];
      if (line?.outcome === "begun") shared.audit[index] = { ...line, outcome, target: line.target ?? target };
      await Promise.resolve();
    },
    audit: async (page) => await Promise.resolve(pageOf(shared.audit, page)),
  };
}

/** Newest first, before the cursor. Ids are numbers that grow. */
export function pageOf<Line extends { readonly id: string }>(lines: readonly Line[], page: Page): readonly Line[] {
  const { before } = page;
  const older = before === undefined ? lines : lines.filter((line) => Number(line.id) < Number(before));
  return older.toReversed().slice(0, page.limit);
}

export function memorySnapshots(shared: MemoryCluster, registry: MemoryRegistry): SnapshotBook {
  return {
    async save(text: string): Promise<void> {
      const { nodeId, incarnation } = registry.holder;
      shared.snapshots.set(incarnation, { nodeId, at: shared.database.now(), text });
      await Promise.resolve();
    },
    async all(): Promise<readonly MetricsSnapshot[]> {
      const now = shared.database.now();
      const rows = [...shared.snapshots]
        .filter(([incarnation, { nodeId }]) => shared.isLiving(nodeId, incarnation))
        .map(([, { nodeId, at, text }]) => ({ nodeId, ageMs: now - at, text }));
      return await Promise.resolve(rows);
    },
  };
}
