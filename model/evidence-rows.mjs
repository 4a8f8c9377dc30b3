import { rowsOf } from "./row.mjs";

const { holds, fails } = rowsOf("evidence.pml");

/** The letters are the ways in which the server can lose the sessions of a leader that lives. */
export const evidenceRows = [
  fails(
    "evidence-is-swift",
    "patient",
    ["CRASH"],
    "The point of it: a crashed leader's lease is taken over while it runs (R6).",
  ),
  fails("evidence-grace-is-swift", "patient", ["CRASH", "GRACE"], "Also with a grace (R6)."),
  holds("lease-is-patient", "patient", ["CRASH", "LEASE_ONLY"], "takeover = lease waits it out (R6)."),
  holds(
    "evidence-is-no-guess",
    "patient",
    ["RESTART", "KILLS=2", "GRANTS=2"],
    "No restart and no administrator makes a leader that lives look crashed (R6).",
  ),
  holds(
    "cut",
    "g3",
    ["CUT"],
    "(a) Cut off, and dropped by a keep-alive longer than the fence: the trust has run out (R6).",
  ),
  fails(
    "cut-short-keepalive",
    "g3",
    ["CUT", "KEEPALIVE=2"],
    "(a) A keep-alive shorter than the fence drops a leader that still trusts (R6).",
  ),
  holds(
    "restart",
    "g3",
    ["RESTART"],
    "(b) A restart or crash recovery ends the heir's session too, and with it what it has seen (R6).",
  ),
  fails(
    "restart-unseen",
    "g3",
    ["RESTART", "UNSEEN_SUFFICES"],
    "(b) Without the rule that the sessions were seen alive, a restart is a crash (R6).",
  ),
  fails(
    "restart-seen-by-node",
    "g3",
    ["RESTART", "SEEN_BY_NODE"],
    "(b) This very session must have seen them: what its node remembers is older than the restart (R6).",
  ),
  holds("one-killed", "g3", ["KILLS=1"], "(c) An administrator ends one of the two sessions (R6)."),
  holds("one-killed-one-suffices", "g3", ["KILLS=1", "ONE_SUFFICES"], "(c) The counters alone would catch that,"),
  fails(
    "one-killed-nothing-else",
    "g3",
    ["KILLS=1", "ONE_SUFFICES", "COUNTERS_IGNORED"],
    "(c) but one of the two rules it takes (R6).",
  ),
  holds("one-reset", "g3", ["RESETS=1"], "(c) One of the two is lost without being counted (R6)."),
  fails("one-reset-one-suffices", "g3", ["RESETS=1", "ONE_SUFFICES"], "(c) There both must be gone (R6)."),
  holds(
    "all-killed",
    "g3",
    ["KILLS=2"],
    "(d) An administrator ends all sessions of the leader, and the counters tell (R6).",
  ),
  fails("all-killed-uncounted", "g3", ["KILLS=2", "COUNTERS_IGNORED"], "(d) Counters ignored: a kill is a crash (R6)."),
  fails(
    "all-killed-between-slices",
    "g3",
    ["KILLS=2", "COUNTERS_OF_SLICE"],
    "(d) Counters read after the sighting, as at the start of a later slice, miss a kill in between: those read before it count (R6).",
  ),
  fails(
    "reset",
    "g3",
    ["RESETS=2"],
    "(e) The stated limit of G3: both sessions reset at the server's side, the leader lives and is not told.",
  ),
  holds("reset-grace", "g3", ["RESETS=2", "GRACE", "GRANTS=2"], "(e) A grace closes it (R6)."),
  fails("reset-grace-heir", "g3", ["RESETS=2", "GRACE", "HEIR_IGNORES_GRACE"], "(e) The heir must wait it out (R6),"),
  fails(
    "reset-grace-leader",
    "g3",
    ["RESETS=2", "GRACE", "LEADER_IGNORES_GRACE"],
    "(e) and the leader must shut its gate by it (R6).",
  ),
  fails(
    "reset-grace-any-session",
    "g3",
    ["RESETS=2", "GRACE", "PULSE_ANY_SESSION"],
    "(e) An answer counts only on a session that the row names: a leader that reconnects must renew first (R6).",
  ),
  fails(
    "evidence-before-lock",
    "g3",
    ["RESETS=2", "GRACE", "EVIDENCE_BEFORE_LOCK"],
    "Evidence is judged under the row lock: the leader may be back since it was looked at (R6).",
  ),
  holds(
    "grace-short-keepalive",
    "g3",
    ["CUT", "KEEPALIVE=2", "GRACE", "GRANTS=2"],
    "With a grace the keep-alive may be short,",
  ),
  holds(
    "grace-alone",
    "g3",
    ["RESTART", "GRACE", "UNSEEN_SUFFICES", "GRANTS=2"],
    "and a grace needs no sighting: it assumes nothing about connections (R6).",
  ),
  holds("cut-and-restart", "g3", ["CUT", "RESTART", "GRANTS=2"], "Two calamities in one run: (a) and (b),"),
  holds(
    "restart-kill-reset",
    "g3",
    ["RESTART", "KILLS=1", "RESETS=1", "GRANTS=2"],
    "(b), and one session killed and the other reset.",
  ),
  holds(
    "lease-under-all",
    "g3",
    ["LEASE_ONLY", "CUT", "KEEPALIVE=2", "RESTART", "RESETS=2", "GRANTS=2"],
    "takeover = lease holds under all of them: it asks no session (R6).",
  ),
];
