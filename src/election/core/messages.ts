import type { EndReason, SessionPath } from "./elector-state.js";
import type { LeaseTerms, LeaseView, NodeSessions, Sighting } from "./lease.js";
import type { AcquireCause, EvidenceClaim, LossReason, VoidReason } from "./lease-rules.js";
import type { Epoch, NodeId, Role, SessionRef } from "./names.js";
import type { Trust } from "./trust.js";

/** The elector's connections: one for beats and locks, one witness, and one for each role it campaigns for. */
export type LinkName =
  | { readonly kind: "lock" }
  | { readonly kind: "witness" }
  | { readonly kind: "campaign"; readonly role: Role };

/**
 * What a beat asks for one role, beside the registry's row and the view of every lease (R12). A lock is ordered to be taken
 * only by a session that does not hold it, and dropped only by one that does: databases count what a session takes twice.
 */
export interface BeatOrder {
  readonly role: Role;
  readonly renew: Epoch | null;
  readonly lock: "take" | "drop" | null;
  readonly heir: "take" | "drop" | null;
}

export interface BeatAnswer {
  readonly role: Role;
  readonly renewal:
    | { readonly kind: "renewed" }
    /** The row was locked by another transaction: neither renewed nor lost. */
    | { readonly kind: "unknown" }
    | { readonly kind: "lost"; readonly reason: LossReason }
    | null;
  /** Whether the session holds the lock now; null where the beat did not ask. */
  readonly holdsLock: boolean | null;
  readonly isHeir: boolean | null;
}

export interface BeatReply {
  readonly answers: readonly BeatAnswer[];
  readonly leases: readonly LeaseView[];
}

export type WaitReply =
  | { readonly kind: "locked"; readonly sighting: Sighting }
  | { readonly kind: "timeout"; readonly sighting: Sighting }
  /** The session that the row names does not hold the lock, so there is nothing to wait for. */
  | { readonly kind: "unheld" };

export type AcquireReply =
  | {
      readonly kind: "acquired";
      readonly epoch: Epoch;
      readonly cause: AcquireCause;
      readonly gapMs: number;
      readonly view: LeaseView;
    }
  | { readonly kind: "held"; readonly view: LeaseView; readonly remainingMs: number }
  | { readonly kind: "reserved"; readonly remainingMs: number }
  | { readonly kind: "stalled" }
  | { readonly kind: "lingering" }
  | { readonly kind: "grace"; readonly waitMs: number }
  | { readonly kind: "void"; readonly reason: VoidReason; readonly view: LeaseView }
  | { readonly kind: "quarantined"; readonly view: LeaseView }
  /** Something held the fence or the row for longer than the lock timeout. */
  | { readonly kind: "blocked" };

export type Input =
  | { readonly kind: "tick" }
  | { readonly kind: "contend"; readonly role: Role }
  | { readonly kind: "opened"; readonly link: LinkName; readonly ref: SessionRef | null; readonly path: SessionPath }
  /** A connection ended, or could not be opened. */
  | { readonly kind: "closed"; readonly link: LinkName }
  | { readonly kind: "beatReplied"; readonly id: number; readonly reply: BeatReply }
  | { readonly kind: "pulseReplied"; readonly id: number }
  | { readonly kind: "reapReplied"; readonly id: number }
  | { readonly kind: "waitReplied"; readonly role: Role; readonly id: number; readonly reply: WaitReply }
  | { readonly kind: "acquireReplied"; readonly role: Role; readonly id: number; readonly reply: AcquireReply }
  /** A request failed: its outcome is unknown, which is never a success. */
  | { readonly kind: "failed"; readonly link: LinkName; readonly id: number }
  /** Somebody said that the role changed hands. A hint that saves waiting, never an authority (R9). */
  | { readonly kind: "noticed"; readonly role: Role; readonly notice: Notice }
  | {
      readonly kind: "stepDown";
      readonly role: Role;
      readonly to: NodeId | null;
      readonly reason: EndReason;
      readonly yieldMs: number;
    }
  /** All work of a term has ended. */
  | { readonly kind: "workSettled"; readonly role: Role; readonly epoch: Epoch }
  | { readonly kind: "workFailed"; readonly role: Role; readonly epoch: Epoch }
  /** The process stops: whatever term is left ends at once, and its lease has to run out. */
  | { readonly kind: "halt" }
  /** The node starts or stops being a candidate; stopping gives up what it leads, within so long, or the drain timeout. */
  | { readonly kind: "candidacy"; readonly on: boolean; readonly drainMs?: number };

export type Notice =
  | { readonly kind: "elected"; readonly epoch: Epoch }
  | { readonly kind: "released"; readonly epoch: Epoch; readonly to: NodeId | null };

export type Effect =
  | { readonly kind: "open"; readonly link: LinkName }
  | { readonly kind: "close"; readonly link: LinkName }
  | {
      readonly kind: "beat";
      readonly id: number;
      readonly orders: readonly BeatOrder[];
      readonly sessions: NodeSessions;
      readonly timeoutMs: number;
    }
  | { readonly kind: "pulse"; readonly id: number; readonly timeoutMs: number }
  | {
      readonly kind: "wait";
      readonly role: Role;
      readonly id: number;
      readonly prior: Sighting | null;
      readonly sliceMs: number;
      readonly timeoutMs: number;
    }
  | {
      readonly kind: "acquire";
      readonly role: Role;
      readonly id: number;
      readonly terms: LeaseTerms;
      readonly sessions: NodeSessions;
      readonly evidence: EvidenceClaim | null;
      readonly acquireDelayMs: number;
      readonly timeoutMs: number;
    }
  | {
      readonly kind: "release";
      readonly role: Role;
      readonly epoch: Epoch;
      readonly to: NodeId | null;
      readonly reserveMs: number;
      readonly dropLock: boolean;
      readonly reason: EndReason;
    }
  /** End the sessions of frozen nodes that still hold a lock of these roles (R7). Without roles: only answer. */
  | { readonly kind: "reap"; readonly id: number; readonly roles: readonly Role[] }
  | {
      readonly kind: "elected";
      readonly role: Role;
      readonly epoch: Epoch;
      readonly trust: Trust;
      readonly cause: AcquireCause;
      readonly gapMs: number;
    }
  /** Leadership is being given up: stop admitting work, abort the signal, report when the work has settled. */
  | { readonly kind: "draining"; readonly role: Role; readonly epoch: Epoch; readonly reason: EndReason }
  | { readonly kind: "ended"; readonly role: Role; readonly epoch: Epoch; readonly reason: EndReason }
  | { readonly kind: "changed"; readonly role: Role; readonly view: LeaseView }
  | { readonly kind: "evidenceRefused"; readonly role: Role; readonly reason: VoidReason | "lingering" }
  /** Step again at this monotonic time, if nothing happens before. */
  | { readonly kind: "wake"; readonly at: number };
