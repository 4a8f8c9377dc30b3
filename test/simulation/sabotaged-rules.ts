import { vacantLease } from "../../src/election/core/lease.js";
import { decideAcquire, decideRelease, decideRenew } from "../../src/election/core/lease-rules.js";
import type { Sabotage } from "./sabotage.js";

/** Lease rules that decide wrongly. */
export const sabotagedRules: readonly Sabotage[] = [
  {
    name: "unguarded release: frees the lease of whoever holds it",
    caughtBy: "R4",
    theme: "ordinary",
    hooks: {
      rules: {
        decideRelease: (lease, request, facts) =>
          decideRelease(
            lease,
            {
              ...request,
              epoch: lease.epoch,
              holder: { ...request.holder, incarnation: lease.incarnation ?? request.holder.incarnation },
            },
            facts,
          ),
      },
    },
  },
  {
    name: "the epoch is not raised by an acquire",
    caughtBy: "G2",
    theme: "ordinary",
    hooks: {
      rules: {
        decideAcquire: (lease, request, facts) => {
          const decision = decideAcquire(lease, request, facts);
          if (decision.kind !== "acquired" || lease.epoch === 0n) return decision;
          return { ...decision, write: { ...decision.write, epoch: lease.epoch } };
        },
      },
    },
  },
  {
    name: "a release deletes the row, and the epoch starts again",
    caughtBy: "R1",
    theme: "working",
    hooks: {
      rules: {
        decideRelease: (lease, request, facts) => {
          const decision = decideRelease(lease, request, facts);
          return decision.kind === "released" ? { ...decision, write: vacantLease(lease.role) } : decision;
        },
      },
    },
  },
  {
    name: "a renewal does not name its exact epoch",
    caughtBy: "G3",
    // Where a term ends with its trust, trust from the sending alone keeps this harmless; `hold` terms go on.
    theme: "hold",
    hooks: {
      rules: {
        decideRenew: (lease, request, facts) => {
          const incarnation = lease.incarnation ?? request.holder.incarnation;
          return decideRenew(
            lease,
            { ...request, epoch: lease.epoch, holder: { ...request.holder, incarnation } },
            facts,
          );
        },
      },
    },
  },
  {
    name: "evidence with one of the two sessions gone",
    caughtBy: "G3",
    theme: "sessions",
    hooks: {
      rules: {
        decideAcquire: (lease, request, facts) =>
          decideAcquire(lease, request, {
            ...facts,
            lockSessionAlive: facts.lockSessionAlive && facts.witnessSessionAlive,
            witnessSessionAlive: facts.lockSessionAlive && facts.witnessSessionAlive,
          }),
      },
    },
  },
  {
    name: "evidence that takes a kill for a crash",
    caughtBy: "G3",
    theme: "sessions",
    hooks: {
      rules: {
        decideAcquire: (lease, request, facts) =>
          decideAcquire(lease, request, { ...facts, kills: request.evidence?.sighting.kills ?? facts.kills }),
      },
    },
  },
  {
    name: "the heir does not wait the grace out",
    caughtBy: "G3",
    theme: "grace",
    hooks: {
      rules: {
        decideAcquire: (lease, request, facts) => {
          const evidence = request.evidence && { ...request.evidence, graceServedMs: Number.POSITIVE_INFINITY };
          return decideAcquire(lease, { ...request, evidence }, facts);
        },
      },
    },
  },
  {
    name: "a stalled holder that holds the lock is deposed all the same",
    caughtBy: "R7",
    theme: "hold",
    hooks: {
      rules: {
        decideAcquire: (lease, request, facts) => decideAcquire(lease, request, { ...facts, lockSessionHolds: false }),
      },
    },
  },
  {
    name: "no quarantine after a failover of the database",
    caughtBy: "G3",
    theme: "failover",
    hooks: {
      rules: {
        decideAcquire: (lease, request, facts) => {
          const decision = decideAcquire(lease, request, facts);
          if (decision.kind !== "quarantined") return decision;
          return { ...decision, write: { ...decision.write, expiresAt: facts.now } };
        },
      },
    },
  },
  {
    name: "a renewal is worth less to the database than to the leader",
    caughtBy: "G3",
    theme: "stalls",
    hooks: {
      rules: {
        decideRenew: (lease, request, facts) => {
          const decision = decideRenew(lease, request, facts);
          if (decision.kind !== "renewed") return decision;
          return { ...decision, write: { ...decision.write, expiresAt: facts.now + lease.ttlMs * 0.85 } };
        },
      },
    },
  },
  {
    name: "an expiry beyond the TTL is not clamped after the clock was stepped back",
    caughtBy: "G6",
    theme: "clocks",
    hooks: {
      rules: {
        decideAcquire: (lease, request, facts) => {
          const decision = decideAcquire(lease, request, facts);
          return decision.kind === "held" ? { ...decision, write: null } : decision;
        },
      },
    },
  },
  {
    name: "a reservation stays where it was when the clock is stepped back",
    caughtBy: "G6",
    theme: "reluctant",
    hooks: {
      rules: {
        decideAcquire: (lease, request, facts) => {
          const decision = decideAcquire(lease, request, facts);
          if (decision.kind !== "held" || decision.write === null) return decision;
          return { ...decision, write: { ...decision.write, reservedUntil: lease.reservedUntil } };
        },
      },
    },
  },
  {
    // Harmless to G3, as long as trust counts from the sending; the rule stands on its own.
    name: "a renewal revives a lease that has run out",
    caughtBy: "R4",
    theme: "stalls",
    hooks: {
      rules: {
        decideRenew: (lease, request, facts) => decideRenew({ ...lease, expiresAt: facts.now + 1 }, request, facts),
      },
    },
  },
];
