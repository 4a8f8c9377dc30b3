import type { Holder, LeaseTerms, LeaseView, Sighting } from "./lease.js";
import type { AcquireCause, LossReason } from "./lease-rules.js";
import type { Epoch, NodeId, Role, SessionRef } from "./names.js";
import type { Timing } from "./timing.js";
import type { Instant, Trust } from "./trust.js";

/** What never changes while a node runs. */
export interface ElectorSettings {
  readonly holder: Holder;
  readonly timing: Timing;
  readonly terms: LeaseTerms;
  /** False: stays a standby, unless a step-down names it. */
  readonly promotable: boolean;
}

/**
 * How a node's sessions reach the database (R11). Only a direct session proves anything by its end: behind a pooler there
 * is no evidence at all, behind a proxy or NAT there is, with a grace.
 */
export type SessionPath = "direct" | "proxied" | "pooled";

const proxiedGraceMs = 250;

/** One connection that the elector keeps: closed until `retryAt`, being opened, or open. */
export type Link =
  | { readonly kind: "closed"; readonly retryAt: number; readonly failures: number }
  | { readonly kind: "opening"; readonly failures: number }
  | { readonly kind: "open"; readonly ref: SessionRef | null };

/** A request whose reply has not come. Replies carry its id, so that those of a dead session or term change nothing (R4). */
export interface PendingRequest {
  readonly id: number;
  readonly sentAt: Instant;
  /** Monotonic time after which the reply no longer counts and the session is given up. */
  readonly deadline: number;
}

export type EndReason = LossReason | "trust_ran_out" | "stepped_down" | "draining" | "work_failed" | "drain_overrun";

/** A stretch of leadership. It ends once, with a reason, and its epoch is never renewed again. */
export interface Term {
  readonly epoch: Epoch;
  phase: "leading" | "draining";
  /** What the last confirmed renewal is worth. */
  trust: Trust;
  /** What is told once the term may act: with a grace that is after the first renewal. Null when it has been told. */
  unannounced: { readonly cause: AcquireCause; readonly gapMs: number } | null;
  /** The gate has been shut since then; only a renewal sent later reopens it. */
  shutAt: number | null;
  /** When the last answered request was sent on the very session that the row names; null until one was. */
  provenAt: Instant | null;
  readonly electedAt: number;
  /** The grace that the row asks of an heir, as it was when the lease was taken. */
  readonly graceMs: number;
  drain: Drain | null;
}

/** A term that is being given up. */
export interface Drain {
  readonly to: NodeId | null;
  readonly reason: EndReason;
  readonly deadline: number;
  readonly yieldMs: number;
}

export type CampaignRequest =
  | (PendingRequest & { readonly what: "wait" })
  | (PendingRequest & { readonly what: "acquire"; readonly graceMs: number; readonly invited: boolean });

/** A standby's way to the lease: as heir it waits for the lock, and when the lease is open it asks for it. */
export interface Campaign {
  link: Link;
  request: CampaignRequest | null;
  /** What this very session last saw of the holder. Dies with the session. */
  sighting: Sighting | null;
  /** The lock came: the sighting may be evidence. */
  locked: boolean;
  confirmedAt: number | null;
  lingerUntil: number;
  /** When to ask for the lease; null while it is not open. */
  attemptAt: number | null;
  waitAt: number;
}

export interface RoleState {
  readonly role: Role;
  view: LeaseView | null;
  viewAt: number;
  /** A notice of a release came then. It is a hint: what was asked for before it is older, what is asked after it decides. */
  noticedAt: number;
  term: Term | null;
  /** The epoch whose work still runs in this process: until it has stopped, the node is not fit to lead again (R10). */
  workEpoch: Epoch | null;
  /** Its work has failed: until then it keeps off the role, unless it is named by a step-down (R10). */
  coolUntil: number;
  failures: number;
  /** It has stepped down: until a successor is seen, or until then, it leaves the role to others. */
  yieldsUntil: number;
  /** The lock session holds the role's lock: the crash detector of this leader. */
  holdsLock: boolean;
  /** The lock session holds the heir's lock: this node is the one that takes over first. */
  isHeir: boolean;
  campaign: Campaign;
}

export interface ElectorState {
  readonly settings: ElectorSettings;
  path: SessionPath;
  lock: Link;
  witness: Link;
  beat: { request: PendingRequest | null; nextAt: number };
  pulse: { request: PendingRequest | null; nextAt: number };
  /** The witness is asked for something now and then, or its silent end would never be noticed. */
  reap: { request: PendingRequest | null; nextAt: number };
  /** False while the node drains or is a pure follower. */
  contending: boolean;
  nextId: number;
  roles: Map<Role, RoleState>;
}

const closed: Link = { kind: "closed", retryAt: 0, failures: 0 };

export const idleCampaign: Campaign = {
  link: closed,
  request: null,
  sighting: null,
  locked: false,
  confirmedAt: null,
  lingerUntil: 0,
  attemptAt: null,
  waitAt: 0,
};

export function initialState(settings: ElectorSettings, contending: boolean): ElectorState {
  return {
    settings,
    path: "direct",
    lock: closed,
    witness: closed,
    beat: { request: null, nextAt: 0 },
    pulse: { request: null, nextAt: 0 },
    reap: { request: null, nextAt: 0 },
    contending,
    nextId: 1,
    roles: new Map(),
  };
}

export function initialRole(role: Role): RoleState {
  return {
    role,
    view: null,
    viewAt: 0,
    noticedAt: Number.NEGATIVE_INFINITY,
    term: null,
    workEpoch: null,
    coolUntil: 0,
    yieldsUntil: 0,
    failures: 0,
    holdsLock: false,
    isHeir: false,
    campaign: { ...idleCampaign },
  };
}

/** A copy that a step may write to, so that the state it was given stays as it was. */
export function draftOf(state: ElectorState): ElectorState {
  const roles = new Map<Role, RoleState>();
  for (const [name, role] of state.roles) {
    const term = role.term === null ? null : { ...role.term };
    roles.set(name, { ...role, term, campaign: { ...role.campaign } });
  }
  return { ...state, beat: { ...state.beat }, pulse: { ...state.pulse }, reap: { ...state.reap }, roles };
}

/** The grace that this node's own gate observes and asks its heir to observe. */
export function graceMs(state: ElectorState): number {
  const asked = state.settings.terms.evidenceGraceMs;
  return state.path === "proxied" && state.settings.terms.takeover === "evidence"
    ? Math.max(asked, proxiedGraceMs)
    : asked;
}

/** How long the lease has still to run, as far as this node can tell. */
export function leaseRemainingMs(role: RoleState, now: Pick<Instant, "mono">): number {
  return role.view === null ? Number.POSITIVE_INFINITY : role.view.remainingMs - (now.mono - role.viewAt);
}

/** A role that this node leads, or may be about to: an acquire that is under way may still be granted. */
export function isEngaged(role: RoleState): boolean {
  return role.term !== null || role.campaign.request?.what === "acquire";
}
