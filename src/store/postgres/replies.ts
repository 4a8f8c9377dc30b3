import type { LeaseView, Sighting } from "../../election/core/lease.js";
import type { AcquireCause, VoidReason } from "../../election/core/lease-rules.js";
import type { AcquireReply, BeatAnswer, BeatReply, Notice, WaitReply } from "../../election/core/messages.js";
import { epochOf, type Incarnation, type NodeId, type Role, type SessionRef } from "../../election/core/names.js";
import { parseNodeStatus } from "../../membership/node-row.js";
import type { StoreNews } from "../contract.js";
import { type RequestJson, readRequest } from "./request-book.js";

/** How the JSON of our SQL functions reads in TypeScript. Its shapes are those of the migrations. */

export interface LeaseJson {
  role: string;
  epoch: string;
  holder: string | null;
  incarnation: string | null;
  holder_url: string | null;
  acquired_at: number;
  expires_at: number;
  remaining_ms: number;
  ttl_ms: number;
  takeover: "evidence" | "lease";
  reserved_for: string | null;
  identity: string | null;
}

export function readLease(json: LeaseJson, identity: string | null): LeaseView {
  return {
    role: json.role as Role,
    epoch: epochOf(json.epoch),
    holder: json.holder as NodeId | null,
    incarnation: json.incarnation as Incarnation | null,
    holderUrl: json.holder_url,
    acquiredAt: json.acquired_at,
    expiresAt: json.expires_at,
    remainingMs: json.remaining_ms,
    ttlMs: json.ttl_ms,
    takeover: json.takeover,
    reservedFor: json.reserved_for as NodeId | null,
    isForeign: identity !== null && json.identity !== null && json.identity !== identity,
  };
}

export interface BeatJson {
  known: boolean;
  identity: string | null;
  answers: { role: string; renewal: BeatAnswer["renewal"]; holds_lock: boolean | null; is_heir: boolean | null }[];
  leases: LeaseJson[];
  members: Record<string, number>;
  access_version: number;
  config_version: number;
  requests: RequestJson[];
}

/** What a beat tells beside the elections. */
export function readNews(json: BeatJson, leases: readonly LeaseView[]): StoreNews {
  const members = { joining: 0, active: 0, draining: 0, dead: 0, left: 0 };
  for (const [status, count] of Object.entries(json.members)) members[parseNodeStatus(status)] += count;
  return {
    kind: "beat",
    members,
    leases,
    accessVersion: json.access_version,
    configVersion: json.config_version,
    requests: json.requests.map(readRequest),
  };
}

export function readBeat(json: BeatJson): BeatReply {
  return {
    answers: json.answers.map((answer) => ({
      role: answer.role as Role,
      renewal: answer.renewal,
      holdsLock: answer.holds_lock,
      isHeir: answer.is_heir,
    })),
    leases: json.leases.map((lease) => readLease(lease, json.identity)),
  };
}

interface SightingJson {
  epoch: string;
  lock_session: string;
  witness_session: string;
  kills: number;
  locked_at?: number | null;
}

export type WaitJson = { kind: "unheld" } | { kind: "locked" | "timeout"; sighting: SightingJson };

export function readWait(json: WaitJson): WaitReply {
  if (json.kind === "unheld") return { kind: "unheld" };
  const { sighting } = json;
  return {
    kind: json.kind,
    sighting: {
      epoch: epochOf(sighting.epoch),
      lockSession: sighting.lock_session as SessionRef,
      witnessSession: sighting.witness_session as SessionRef,
      kills: sighting.kills,
      lockedAt: sighting.locked_at ?? null,
    },
  };
}

export function writeSighting(sighting: Sighting): SightingJson {
  return {
    epoch: sighting.epoch.toString(),
    lock_session: sighting.lockSession,
    witness_session: sighting.witnessSession,
    kills: sighting.kills,
    locked_at: sighting.lockedAt,
  };
}

export type AcquireJson = { view: LeaseJson } & (
  | { kind: "acquired"; cause: AcquireCause; gap_ms: number }
  | { kind: "held" | "reserved"; remaining_ms: number }
  | { kind: "stalled" | "lingering" | "quarantined" }
  | { kind: "grace"; wait_ms: number }
  | { kind: "void"; reason: VoidReason }
);

export function readAcquire(json: AcquireJson): AcquireReply {
  const view = readLease(json.view, null);
  switch (json.kind) {
    case "acquired":
      return { kind: "acquired", epoch: view.epoch, cause: json.cause, gapMs: json.gap_ms, view };
    case "held":
      return { kind: "held", view, remainingMs: json.remaining_ms };
    case "reserved":
      return { kind: "reserved", remainingMs: json.remaining_ms };
    case "grace":
      return { kind: "grace", waitMs: json.wait_ms };
    case "void":
      return { kind: "void", reason: json.reason, view };
    case "quarantined":
      return { kind: "quarantined", view };
    case "stalled":
    case "lingering":
      return { kind: json.kind };
  }
}

const hints = { request: "requested", worker_order: "worker_order", worker_answer: "worker_answer" } as const;

/** What the notice tells this node of beside elections: what names no node is for whoever it concerns. */
export function readHint(payload: string, nodeId: string): (typeof hints)[keyof typeof hints] | null {
  try {
    const json = JSON.parse(payload) as { kind?: unknown; node_id?: unknown } | null;
    const kind = Object.keys(hints).find((each) => each === json?.kind) as keyof typeof hints | undefined;
    const isForThis = json?.node_id === nodeId || (json?.node_id === undefined && kind === "worker_order");
    return kind !== undefined && isForThis ? hints[kind] : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

interface NoticeJson {
  role: string;
  kind: "elected" | "released";
  epoch: string;
  to?: string | null;
}

/** A notice is only a hint, and anyone may send one: what cannot be read is passed over. */
export function readNotice(payload: string): { role: Role; notice: Notice } | null {
  try {
    const json = JSON.parse(payload) as NoticeJson;
    const epoch = epochOf(json.epoch);
    const role = json.role as Role;
    if (json.kind === "elected") return { role, notice: { kind: "elected", epoch } };
    if (json.kind === "released")
      return { role, notice: { kind: "released", epoch, to: (json.to ?? null) as NodeId | null } };
    return null;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError || error instanceof RangeError) return null;
    throw error;
  }
}

export function writeNotice(notice: Notice): string {
  return JSON.stringify({ ...notice, epoch: notice.epoch.toString() });
}
