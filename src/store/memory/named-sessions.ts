import type { Holder, Lease, NodeSessions, Sighting } from "../../election/core/lease.js";
import type { SessionRef } from "../../election/core/names.js";

const prefix = "session-";

/** Sessions are numbered as they open. */
export function sessionRef(order: number): SessionRef {
  return `${prefix}${order}` as SessionRef;
}

const orderOf = (ref: SessionRef): number => Number(ref.slice(prefix.length));

/**
 * A renewal that comes late, on a session that its process has given up since, must not name that session again: the row
 * would tell of a crash where there was a reconnect.
 */
export function wasOvertaken(lease: Lease, holder: Holder, sessions: NodeSessions): boolean {
  if (lease.incarnation !== holder.incarnation || lease.lockSession === null || sessions.lock === null) return false;
  return orderOf(sessions.lock) < orderOf(lease.lockSession);
}

/** The leader may have crashed between two slices: then what was seen in the last one still counts. */
export function stillValid(lease: Lease, prior: Sighting | null): Sighting | null {
  const same =
    prior !== null &&
    prior.epoch === lease.epoch &&
    prior.lockSession === lease.lockSession &&
    prior.witnessSession === lease.witnessSession;
  return same ? prior : null;
}
