/*
 * Crash evidence, R6: who may take over before the lease has run out. The lease itself is as in lease.pml, without its
 * own calamities; here the sessions matter, and the ways in which the server can lose them while the leader lives.
 *
 * Two sessions of the leader are named in the row: the one that sends the renewals and holds the role's lock, and the
 * witness. The other node is the heir. It works in slices: read the counters of killed sessions, look whether the named
 * sessions live and hold the lock, wait for the lock.
 *
 * Time is counted down in ticks; nothing forces anyone to take a step. The property is chosen with CHECK_g3 and so on.
 *
 *   Ways to lose sessions  CUT         a node is cut off for a while; the server's keep-alive drops it after KEEPALIVE ticks
 *                          RESTART     the server restarts or recovers from a crash: all sessions end, the heir's too
 *                          KILLS=n     an administrator ends n sessions of the holder; a counter rises with each
 *                          RESETS=n    a firewall resets n sessions of the holder at the server's side; nothing counts it
 *                          CRASH       a node dies, and its sessions end
 *   Mode                   LEASE_ONLY  takeover = lease
 *                          GRACE       evidence_grace = D
 *   Sabotage               see the comment at each use.
 */

#define N 2
#define TTL 4
#define FENCE 3
#define D 2
#ifndef KEEPALIVE
#define KEEPALIVE (FENCE + 1)
#endif
#ifndef GRANTS
#define GRANTS 3
#endif
#define NONE 9

mtype = { ACQUIRE, RENEW, INHERIT, PULSE };

/* ---- The database. ---- */

byte epoch;
byte holder = NONE;
byte left;        /* Ticks until expires_at. */
byte lock = NONE; /* The node whose main session holds the role's lock. */

#define GONE 0
#define NEW 1     /* Lives, but the row does not name it: the node has reconnected and not renewed since. */
#define NAMED 2
byte session[N] = NEW; /* Sends the renewals, and holds the lock. */
byte witness[N];

/* ---- The heir: the node that does not hold the lease. These go with its session. ---- */

bool seen;        /* This session has seen the named sessions alive and holding the lock. */
bool quietSlice;  /* No session was killed since this slice read the counters. */
bool quietSight;  /* No session was killed since the counters were read that precede the last sighting. */
#ifdef GRACE
bool waits;       /* It has found the sessions gone, */
byte wait;        /* and lets D pass. */
#endif

/* ---- The nodes. ---- */

bool up[N] = true;
bool leads[N];
byte term[N], trust[N];
#ifdef GRACE
byte proof[N];    /* Ticks for which the last answer on the lock's session counts: D from the sending of its request. */
#endif
bool asked[N], answered[N], granted[N];
mtype asks[N];
byte asksFor[N], age[N], grantedEpoch[N];

#ifdef CUT
byte cut = NONE, silent; /* Who is cut off, and the ticks until the server drops it. */
bool wasCut;
#define REACHES(n) (cut != n)
#else
#define REACHES(n) true
#endif
#ifdef RESTART
bool restarted;
#endif
#ifdef KILLS
byte kills;
#endif
#ifdef RESETS
byte resets;
#endif

#ifdef CHECK_patient
bool hasty;       /* A lease was taken over while it ran. */
#endif

/* ---- The rules. ---- */

#if defined(GRACE) && !defined(LEADER_IGNORES_GRACE)
#define GATE(n) (leads[n] && trust[n] > 0 && proof[n] > 0)
#else
#define GATE(n) (leads[n] && trust[n] > 0)
#endif

#ifdef ONE_SUFFICES /* One of the two sessions gone is enough. */
#define SESSIONS_GONE (session[holder] != NAMED || witness[holder] != NAMED)
#else
#define SESSIONS_GONE (session[holder] != NAMED && witness[holder] != NAMED)
#endif

#define SIGHT (holder != NONE && session[holder] == NAMED && witness[holder] == NAMED && lock == holder)

#if defined(UNSEEN_SUFFICES)    /* The sessions need not have been seen alive by anyone. */
#define WITNESSED (quietSlice)
#elif defined(COUNTERS_IGNORED) /* An administrator's kill passes for a crash. */
#define WITNESSED (seen)
#elif defined(COUNTERS_OF_SLICE) /* Seen in an earlier slice, counters compared with the start of this one. */
#define WITNESSED (seen && quietSlice)
#else                           /* The counters are compared with what they were before the sighting. */
#define WITNESSED (seen && quietSight)
#endif

#if defined(GRACE) && !defined(HEIR_IGNORES_GRACE)
#define GRACE_PASSED (waits && wait == 0)
#else
#define GRACE_PASSED true
#endif

#define EVIDENCE (holder != NONE && holder != n && lock == NONE && SESSIONS_GONE && WITNESSED && GRACE_PASSED)

inline stopWaiting() {
#ifdef GRACE
  waits = false; wait = 0
#else
  skip
#endif
}

inline unsee() { seen = false; quietSight = false; stopWaiting() }

/* ---- A node. ---- */

#define IDLE(n) (!asked[n] && !answered[n])

inline ask(what, forEpoch) {
  printf("node %d sends %e\n", n, what);
  asked[n] = true; asks[n] = what; asksFor[n] = forEpoch; age[n] = 0
}

inline forget(i) {
  asked[i] = false; answered[i] = false; granted[i] = false; asks[i] = 0; asksFor[i] = 0; age[i] = 0; grantedEpoch[i] = 0
}

inline endTerm() {
  leads[n] = false; term[n] = 0; trust[n] = 0;
#ifdef GRACE
  proof[n] = 0
#endif
}

inline trustFromSending() {
  trust[n] = FENCE - age[n];
#ifdef GRACE
  proof[n] = (age[n] < D -> D - age[n] : 0)
#endif
}

proctype Node(byte n) {
  do
  :: d_step { up[n] && !leads[n] && IDLE(n) && session[n] != GONE -> ask(ACQUIRE, 0) }
  :: d_step { up[n] && leads[n] && trust[n] > 0 && IDLE(n) && session[n] != GONE -> ask(RENEW, term[n]) }
#ifdef GRACE
  /* R6: between two renewals, an answer on the session that the row names keeps the gate open. */
#ifdef PULSE_ANY_SESSION /* On whatever session the node has, though the row may name another. */
  :: d_step { up[n] && leads[n] && trust[n] > 0 && IDLE(n) && session[n] != GONE -> ask(PULSE, term[n]) }
#else
  :: d_step { up[n] && leads[n] && trust[n] > 0 && IDLE(n) && session[n] == NAMED -> ask(PULSE, term[n]) }
#endif
#endif
  :: d_step { up[n] && leads[n] && trust[n] == 0 -> printf("node %d ends its term: the trust has run out\n", n); endTerm() }
  :: d_step { up[n] && answered[n] ->
       printf("node %d hears the answer to %e: granted %d, sent %d ago\n", n, asks[n], granted[n], age[n]);
       if
#ifdef GRACE
       :: asks[n] == PULSE -> proof[n] = (leads[n] && age[n] < D && D - age[n] > proof[n] -> D - age[n] : proof[n])
#endif
       :: asks[n] != PULSE && !granted[n] -> endTerm()
       :: granted[n] && age[n] >= FENCE
       :: granted[n] && age[n] < FENCE && asks[n] == RENEW && (!leads[n] || trust[n] == 0) -> endTerm()
       :: granted[n] && age[n] < FENCE && asks[n] == RENEW && leads[n] && trust[n] > 0 -> trustFromSending()
       :: granted[n] && age[n] < FENCE && (asks[n] == ACQUIRE || asks[n] == INHERIT) ->
            leads[n] = true; term[n] = grantedEpoch[n]; trustFromSending()
       fi;
       forget(n) }
  :: d_step { up[n] && !IDLE(n) -> /* Lost on the way there or back: an unknown outcome. */
       printf("node %d waits no longer; request or reply are lost\n", n); forget(n) }

  /* The close of a session reaches the node at some time, or never; then it opens another. */
  :: d_step { up[n] && REACHES(n) && session[n] == GONE ->
       printf("node %d reconnects\n", n); session[n] = NEW }
  :: d_step { up[n] && REACHES(n) && leads[n] && holder == n && witness[n] == GONE -> witness[n] = NEW }

#ifndef LEASE_ONLY
  /* The heir's slice. Each line is a statement of its own, so anything may happen in between. */
  :: d_step { up[n] && REACHES(n) && holder == 1 - n && !quietSlice ->
       printf("heir %d reads the counters\n", n); quietSlice = true }
  :: d_step { up[n] && REACHES(n) && holder == 1 - n && SIGHT && (!seen || quietSight != quietSlice) ->
       printf("heir %d sees both sessions alive and the lock held\n", n); seen = true; quietSight = quietSlice }
#ifdef GRACE
  :: d_step { up[n] && REACHES(n) && holder == 1 - n && !waits && lock == NONE && SESSIONS_GONE ->
       printf("heir %d lets the grace pass\n", n); waits = true; wait = D }
#endif
  :: d_step { up[n] && REACHES(n) && !leads[n] && IDLE(n) && EVIDENCE -> ask(INHERIT, 0) }
#endif

#ifdef CRASH
  :: d_step { up[n] && up[1 - n] -> printf("node %d crashes\n", n); up[n] = false; endTerm(); forget(n) }
#endif
  od
}

/* ---- The server. ---- */

inline grant() {
  if
  :: holder == 1 - n -> witness[1 - n] = GONE; session[1 - n] = (session[1 - n] == NAMED -> NEW : session[1 - n])
  :: else
  fi;
#ifdef CHECK_patient
  hasty = hasty || left > 0;
#endif
  epoch++; holder = n; left = TTL; granted[n] = true; grantedEpoch[n] = epoch;
  session[n] = (session[n] != GONE -> NAMED : GONE); witness[n] = NAMED;
  unsee(); quietSlice = false
}

/* A renewal names the sessions of today. What the heir has seen of others is worth nothing then. */
inline renew() {
  left = TTL; granted[n] = true; grantedEpoch[n] = epoch;
  if
  :: session[n] == NEW || witness[n] == NEW -> unsee()
  :: else -> stopWaiting()
  fi;
  session[n] = NAMED; witness[n] = (witness[n] == NEW -> NAMED : witness[n])
}

inline endWitness(i) { printf("server: the witness session of node %d ends\n", i); witness[i] = GONE }

inline endSession(i) {
  printf("server: the main session of node %d ends\n", i);
  session[i] = GONE; lock = (lock == i -> NONE : lock);
  /* What travelled on it and was not executed is lost. The heir's bid travels on another. */
  if :: asked[i] && asks[i] != INHERIT -> forget(i) :: else fi
}

inline countKill() { printf("(killed, and counted)\n"); kills++; quietSlice = false; quietSight = false }

#ifdef EVIDENCE_BEFORE_LOCK /* Judged when the bid is sent, and not again under the row lock. */
#define INHERITS (asks[n] == INHERIT)
#else
#define INHERITS (asks[n] == INHERIT && EVIDENCE)
#endif
/* The nodes are alike: the first lease goes to node 0. */
#define MAY_ACQUIRE (epoch < GRANTS && (left == 0 || INHERITS) && (epoch > 0 || n == 0))
#define MAY_RENEW (holder == n && epoch == asksFor[n] && left > 0)

proctype Server(byte n) { /* The sessions of node n. */
  do
  :: d_step { asked[n] && REACHES(n) ->
       if
       :: asks[n] == PULSE
       :: asks[n] == RENEW && MAY_RENEW -> renew()
       :: asks[n] == RENEW && !MAY_RENEW
       :: asks[n] != RENEW && asks[n] != PULSE && MAY_ACQUIRE -> grant()
       :: asks[n] != RENEW && asks[n] != PULSE && !MAY_ACQUIRE
       fi;
       printf("server: %e of node %d: granted %d; epoch %d, expires in %d\n", asks[n], n, granted[n], epoch, left);
       asked[n] = false; asksFor[n] = 0; answered[n] = true }

  /* The holder takes the lock once it is free and the row names the session; a deposed one lets go of it. */
  :: d_step { lock == NONE && holder == n && session[n] == NAMED -> printf("node %d holds the lock\n", n); lock = n }
  :: d_step { lock == n && holder != n && up[n] -> lock = NONE }

#ifdef CRASH
  :: d_step { !up[n] && session[n] != GONE -> endSession(n) }
  :: d_step { !up[n] && witness[n] != GONE -> endWitness(n) }
#endif
#ifdef CUT
  :: d_step { cut == n && silent == 0 && session[n] != GONE -> endSession(n) }
  :: d_step { cut == n && silent == 0 && witness[n] != GONE -> endWitness(n) }
#endif
#ifdef KILLS
  :: d_step { kills < KILLS && holder == n && session[n] != GONE -> endSession(n); countKill() }
  :: d_step { kills < KILLS && holder == n && witness[n] != GONE -> endWitness(n); countKill() }
#endif
#ifdef RESETS
  :: d_step { resets < RESETS && holder == n && session[n] != GONE -> resets++; endSession(n) }
  :: d_step { resets < RESETS && holder == n && witness[n] != GONE -> resets++; endWitness(n) }
#endif
  od
}

#if defined(CUT) || defined(RESTART)
active proctype Calamity() {
  do
#ifdef CUT
  :: atomic { !wasCut -> wasCut = true; silent = KEEPALIVE;
       if :: cut = 0 :: cut = 1 fi;
       printf("node %d is cut off\n", cut) }
  :: d_step { cut != NONE -> printf("node %d is back\n", cut); cut = NONE; silent = 0 }
#endif
#ifdef RESTART
  :: d_step { !restarted -> printf("the server restarts\n"); restarted = true;
       endSession(0); endSession(1); witness[0] = GONE; witness[1] = GONE;
       if :: asked[0] -> forget(0) :: else fi; if :: asked[1] -> forget(1) :: else fi;
#ifdef SEEN_BY_NODE /* The node remembers what a session of it saw that is no more. */
       quietSlice = false
#else
       unsee(); quietSlice = false
#endif
     }
#endif
  od
}
#endif

/* ---- Time. ---- */

inline tickNode(i) {
  trust[i] = (trust[i] > 0 -> trust[i] - 1 : 0);
  age[i] = ((asked[i] || answered[i]) && age[i] < FENCE -> age[i] + 1 : age[i]);
#ifdef GRACE
  proof[i] = (proof[i] > 0 -> proof[i] - 1 : 0)
#endif
}

active proctype Clock() {
  do
  :: d_step { true -> printf("tick\n");
       left = (left > 0 -> left - 1 : 0);
       tickNode(0); tickNode(1);
#ifdef GRACE
       wait = (wait > 0 -> wait - 1 : 0);
#endif
#ifdef CUT
       silent = (silent > 0 -> silent - 1 : 0)
#endif
     }
  od
}

init { atomic { run Node(0); run Server(0); run Node(1); run Server(1) } }

/* ---- The properties. ---- */

#ifdef CHECK_g3
ltl g3 { [] !(GATE(0) && GATE(1)) }
#endif
#ifdef CHECK_patient
ltl patient { [] !hasty }
#endif
