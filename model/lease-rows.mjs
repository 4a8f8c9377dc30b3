import { rowsOf } from "./row.mjs";

const { holds, fails } = rowsOf("lease.pml");

/** A promotion that loses the last commits, and two of them. The small numbers keep the search short. */
const lossy = ["PROMOTIONS=1", "GRANTS=2", "CRASHES=0"];
const twoReplicas = ["PROMOTIONS=2", "GRANTS=2", "CRASHES=0", "TTL=2", "FENCE=1"];

const fence = [
  holds("fence", "g1", ["GRANTS=2"], "The fence as it is, with crashes, lost replies and late requests."),
  holds(
    "fence-any-clock",
    "g1",
    ["GRANTS=2", "CLOCK_JUMP"],
    "G1 needs no clock: the database's jumps forward at will.",
  ),
  holds(
    "fence-hold",
    "g1",
    ["HOLD", "GRANTS=2", "CRASHES=0"],
    "Holding on to an expired lease does not touch the fence.",
  ),
  fails("no-fence", "g1", ["NO_FENCE", "GRANTS=2"], "Without an assert a deposed leader writes (R8)."),
  fails(
    "split-guard",
    "g1",
    ["SPLIT_GUARD", "GRANTS=2"],
    "An epoch that is read but not locked until the commit is no fence (R8).",
  ),
  fails(
    "current-epoch",
    "g1",
    ["CURRENT_EPOCH", "GRANTS=2"],
    "The assert names the epoch of the term that began the work, not today's: a node may lead again (R8).",
  ),
];

const gate = [
  holds("gate", "g3", [], "Lease and trust as they are, with crashes, lost replies, late requests and releases."),
  holds(
    "gate-longer",
    "g3",
    ["TTL=4", "FENCE=3"],
    "The same with longer times: the outcome does not hang on the numbers.",
  ),
  fails(
    "trust-from-receipt",
    "g3",
    ["TRUST_FROM_RECEIPT"],
    "Trust counts from the sending: a slow reply stretches it otherwise (R5).",
  ),
  fails("boolean-gate", "g3", ["BOOLEAN_GATE"], "The gate compares at every call: a flag outlives a pause (R5)."),
  fails("unknown-is-success", "g3", ["UNKNOWN_IS_SUCCESS"], "An unknown outcome is not a success (R5)."),
  fails(
    "lock-only",
    "g3",
    ["LOCK_ONLY"],
    "The row is the authority: a session can end under a leader who is not told (R1, R6).",
  ),
  holds(
    "clock-drift",
    "g3",
    ["CLOCK_DRIFT", "CRASHES=0"],
    "A bounded gain of the database's clock is within the margin of fence < TTL (R5).",
  ),
  fails(
    "clock-drift-no-margin",
    "g3",
    ["CLOCK_DRIFT", "FENCE=3", "CRASHES=0"],
    "With fence = TTL there is no margin (R5).",
  ),
  fails(
    "clock-free",
    "g3",
    ["CLOCK_FREE"],
    "The stated limit of G3: a clock without bound, or a guest whose clocks stood still. G1 stays.",
  ),
  fails(
    "clock-jump",
    "g3",
    ["CLOCK_JUMP"],
    "The stated limit of G3: the database's clock steps forward. G1 stays, see fence-any-clock.",
  ),
];

const release = [
  holds("release-own", "own", [], "A release names its exact incarnation and epoch."),
  fails(
    "release-unguarded",
    "own",
    ["RELEASE_UNGUARDED"],
    "Unguarded, a late release ends the successor's lease (R4),",
  ),
  fails("release-unguarded-gate", "g3", ["RELEASE_UNGUARDED"], "and then a third term opens beside it (R4)."),
  holds(
    "released-is-over",
    "over",
    [],
    "A renewal that arrives after the release changes nothing: the lease must still run.",
  ),
  fails(
    "renew-expired",
    "over",
    ["RENEW_EXPIRED"],
    "If an expired lease could be renewed, a late renewal would bring a released one back: nobody leads for a TTL (R4).",
  ),
  holds(
    "renew-expired-gate",
    "g3",
    ["RENEW_EXPIRED"],
    "That rule is about availability alone: two gates do not open without it, for the row's epoch decides.",
  ),
];

const lostAcquire = [
  holds(
    "terms",
    "g2",
    ["GRANTS=2"],
    "An acquire whose reply was lost is released by its exact epoch, never adopted (R3).",
  ),
  fails(
    "adopt-at-sight",
    "g3",
    ["ADOPT_AT_SIGHT"],
    "Adopted and trusted from that moment, the trust outlasts the lease (R3).",
  ),
  fails(
    "adopt-by-renewal",
    "g3",
    ["ADOPT_BY_RENEWAL"],
    "Adopted by a renewal, with trust from its sending: a late release of the same epoch then frees it under the open gate (R3),",
  ),
  fails(
    "adopt-by-renewal-term",
    "g2",
    ["ADOPT_BY_RENEWAL"],
    "and one epoch opens two terms, so the fence cannot tell their writes apart (R3).",
  ),
  holds(
    "adopt-unopened",
    "g3",
    ["ADOPT_UNOPENED", "CRASHES=0"],
    "Adopting by a renewal only what never opened a term would be safe; it needs a memory that releasing does not,",
  ),
  holds("adopt-unopened-term", "g2", ["ADOPT_UNOPENED", "CRASHES=0"], "also for the terms."),
  fails(
    "reap-while-asking",
    "g3",
    ["REAP_WHILE_ASKING"],
    "The release of an unclaimed lease must wait until the acquire is given up: its reply may still open a term (R3).",
  ),
];

const identity = [
  holds(
    "failover",
    "g3",
    lossy,
    "A promotion that loses commits: the quarantine outlasts the trust that the lost row gave (R3).",
  ),
  holds("failover-epochs", "g2", lossy, "No epoch repeats after it (R3)."),
  holds(
    "failover-fence",
    "g1",
    [...lossy, "TTL=2", "FENCE=1"],
    "No stale write after it, when the assert compares the identity too.",
  ),
  fails(
    "no-quarantine",
    "g3",
    [...lossy, "NO_QUARANTINE"],
    "The lost leader still trusts while the next one opens (R3).",
  ),
  fails("epoch-goes-on", "g2", [...lossy, "EPOCH_GOES_ON"], "Epoch + 1 repeats the epochs that were lost (R3)."),
  holds(
    "two-replicas",
    "g2",
    twoReplicas,
    "Two replicas promoted to the same timeline: the wall clock in the epoch tells them apart (R3).",
  ),
  fails(
    "epoch-by-timeline",
    "g2",
    [...twoReplicas, "EPOCH_BY_TIMELINE"],
    "An epoch made of the timeline does not (R3).",
  ),
  fails(
    "assert-epoch-only",
    "g1",
    [...lossy, "TTL=2", "FENCE=1", "ASSERT_EPOCH_ONLY"],
    "Until an acquire has stamped the row, an older leader's epoch is current again: the assert must compare the identity (R8).",
  ),
  holds(
    "renew-any-database",
    "g3",
    [...lossy, "RENEW_ANY_DATABASE"],
    "With depose, a renewal blind to the identity opens no second gate: the older term has ended by itself.",
  ),
];

const hold = [
  holds(
    "hold",
    "g3",
    ["HOLD"],
    "on_stall = hold: the gate shuts, the lease stays with the session that holds the lock (R7).",
  ),
  holds(
    "hold-released-is-over",
    "over",
    ["HOLD", "CRASHES=0"],
    "A released lease stays released, for its lock is gone (R7).",
  ),
  fails(
    "hold-without-lock",
    "over",
    ["HOLD", "HOLD_WITHOUT_LOCK"],
    "Renewing an expired lease without looking at the lock revives a released one (R7).",
  ),
  holds(
    "hold-without-lock-gate",
    "g3",
    ["HOLD", "HOLD_WITHOUT_LOCK", "CRASHES=0"],
    "Two gates do not open even so: the row's epoch decides.",
  ),
  holds("hold-failover", "g3", [...lossy, "HOLD"], "Hold and a promotion that loses commits."),
  fails(
    "hold-renew-any-database",
    "g3",
    [...lossy, "HOLD", "RENEW_ANY_DATABASE"],
    "With hold, the older leader renews the older row beside the lost one: a renewal must compare the identity (R3).",
  ),
];

const liveness = [
  holds("live", "l1", ["LIVE"], "After a crash leadership comes back, on a timely network."),
  holds("live-freeze", "l1", ["LIVE", "FREEZE"], "Depose: a leader frozen for ever loses its lease (R7)."),
  holds(
    "live-hold",
    "l1",
    ["LIVE", "HOLD"],
    "Hold: a crashed leader's session ends, and the lease goes on to another.",
  ),
  fails(
    "live-hold-freeze",
    "l1",
    ["LIVE", "HOLD", "FREEZE"],
    "Hold: a leader frozen for ever keeps it. The price of hold; G6 does not hold there (R7).",
  ),
  fails("live-lock-only", "l1", ["LIVE", "LOCK_ONLY", "FREEZE"], "A bare session lock has that price always (R7)."),
];

export const leaseRows = [...fence, ...gate, ...release, ...lostAcquire, ...identity, ...hold, ...liveness];
