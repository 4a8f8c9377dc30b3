/*
 * The lease of one role: acquire, renew, release, trust, fence, identity of the database, and the two ways to treat a
 * stall. Crash evidence (R6) has a model of its own, evidence.pml.
 *
 * Time is counted down in ticks. Nothing forces a node or the server to take a step, so every pause of a process and
 * every delay of a message is among the behaviours. A request that the node no longer waits for may still be executed.
 *
 * The model as it stands is the protocol. Each switch turns one rule off or one calamity on; lease-rows.mjs says what
 * every combination must come to. The property to check is chosen with CHECK_g1 and so on, and only what that
 * property needs is compiled: a smaller model is searched in full.
 *
 *   Environment  CLOCK_JUMP      the database's clock steps forward
 *                CLOCK_FREE      the database's clock gains without bound on the nodes' (a suspended guest looks the same)
 *                CLOCK_DRIFT     it gains at most one tick in FENCE ticks
 *                PROMOTIONS=n    n times an asynchronous replica is promoted that lacks the last commits
 *                FREEZE          one process stops for ever, its session stays (only with LIVE)
 *   Mode         HOLD            on_stall = hold; without it, depose
 *                LIVE            timely network and bounded retries, for the liveness property
 *   Sabotage     see the comment at each use.
 */

#define N 2
#ifndef TTL
#define TTL 3
#endif
#ifndef FENCE
#define FENCE 2
#endif
#ifndef GRANTS
#define GRANTS 3 /* The epochs granted in one run, so that the search is finite. */
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#define NONE 9
#define STRIDE 8 /* Stands for 1 << 21: more epochs than are granted between two promotions. */

#if defined(HOLD) || defined(LOCK_ONLY)
#define LOCKS
#endif

mtype = { ACQUIRE, RENEW, RELEASE };

/* ---- The database. Every step of Server is one committed transaction. ---- */

byte epoch;
byte holder = NONE; /* An incarnation, see ME. */
byte left;          /* Ticks until expires_at. */
#ifdef LOCKS
byte lock = NONE;   /* The node whose session holds the role's advisory lock. */
#endif

#ifdef PROMOTIONS
byte timeline = 1, rowTimeline = 1;      /* The identity of the server, and the one stamped in the row. */
byte promotions;                         /* Also the wall clock: it grows with every promotion. */
byte oldEpoch, oldHolder = NONE, oldLeft; /* What the replica has received. */
#define SAME_DATABASE (rowTimeline == timeline)
#else
#define SAME_DATABASE true
#endif

/* ---- The nodes. ---- */

bool up[N] = true;
byte incarnation[N];
bool leads[N];      /* The node has a live term, */
byte term[N];       /* of this epoch, */
byte trust[N];      /* and trusts it for so many ticks more. */

bool asked[N];      /* A request is on its way, or */
bool answered[N];   /* its reply is. */
mtype asks[N];
byte asksFor[N];    /* The epoch that the request names. */
byte age[N];        /* Ticks since it was sent, counted up to FENCE. */
bool granted[N];
byte grantedEpoch[N];

#ifndef LIVE
/* One abandoned request a node: nobody waits for it, but the server may execute it at any time. */
bool late[N];
mtype lateAsks[N];
byte lateFor[N], lateFrom[N];
#endif

byte crashes;
#ifdef ADOPT_UNOPENED
byte lastOpened[N];
#endif

#ifdef CHECK_g1
bool writes[N], asserted[N]; /* A fenced transaction on its way; its assert has passed but it has not committed. */
byte stamp[N];               /* The epoch of the term that began it. */
#endif

#ifdef LIVE
bool tried[N];               /* One request a tick, so that time goes on. */
byte frozen = NONE;
#define MAY_ASK(n) (!asked[n] && !answered[n] && !tried[n])
#define RUNS(n) (up[n] && frozen != n)
#else
#define MAY_ASK(n) (!asked[n] && !answered[n])
#define RUNS(n) (up[n])
#endif

/* A restarted process is another incarnation: what the old one held is not its own. */
#define ME(n) (n + N * incarnation[n])

#if defined(ADOPT_BY_RENEWAL)
#define MAY_ADOPT(e) true
#elif defined(ADOPT_UNOPENED)
#define MAY_ADOPT(e) (e > lastOpened[n])
#endif

/* ---- What is watched. These variables take no part in the protocol. ---- */

#if defined(CHECK_g1) || defined(CHECK_g2)
byte highest;  /* The highest epoch that ever committed, also when a promotion lost that commit. */
#endif
#ifdef CHECK_g1
bool stale;    /* A transaction stamped with an epoch committed after a higher epoch had. */
#endif
#ifdef CHECK_g2
bool repeated; /* An epoch was written that is not above all those written before, */
bool reopened; /* or one epoch opened two terms. */
#ifndef PROMOTIONS
bool opened[STRIDE];
#endif
#endif
#ifdef CHECK_own
bool robbed;   /* A release ended somebody else's running lease. */
#endif
#ifdef CHECK_over
bool released; /* The lease of this epoch was released, */
bool revived;  /* and runs again all the same. */
#endif

/* ---- A node. ---- */

#ifdef BOOLEAN_GATE /* A flag that a timer must flip, instead of a comparison at every call. */
#define GATE(n) (leads[n])
#else
#define GATE(n) (leads[n] && trust[n] > 0)
#endif

#ifdef HOLD /* Run-out trust shuts the gate; the term goes on. */
#define TERM_LIVES(n) (leads[n])
#else
#define TERM_LIVES(n) (leads[n] && trust[n] > 0)
#endif

inline ask(what, forEpoch) {
  printf("node %d sends %e (epoch %d)\n", n, what, forEpoch);
  asked[n] = true; asks[n] = what; asksFor[n] = forEpoch; age[n] = 0;
#ifdef LIVE
  tried[n] = true
#endif
}

inline forget() {
  asked[n] = false; answered[n] = false; asks[n] = 0; asksFor[n] = 0; age[n] = 0; granted[n] = false; grantedEpoch[n] = 0
}

inline endTerm() { leads[n] = false; term[n] = 0; trust[n] = 0 }

/* R5: trust runs from the sending of the request. */
inline trustFromSending() {
#ifdef TRUST_FROM_RECEIPT
  trust[n] = FENCE
#else
  trust[n] = FENCE - age[n]
#endif
}

inline openTerm(e) {
  leads[n] = true; term[n] = e; trustFromSending();
  printf("node %d opens a term of epoch %d, trusted for %d\n", n, e, trust[n]);
#ifdef ADOPT_UNOPENED
  lastOpened[n] = e;
#endif
#if defined(CHECK_g2) && !defined(PROMOTIONS)
  reopened = reopened || opened[e]; opened[e] = true
#endif
}

#ifdef TRUST_FROM_RECEIPT
#define IN_TIME true
#else
#define IN_TIME (age[n] < FENCE)
#endif

inline hearAnswer() {
  printf("node %d hears the answer to %e: granted %d, sent %d ago\n", n, asks[n], granted[n], age[n]);
  if
  :: asks[n] == RELEASE
  :: asks[n] != RELEASE && !granted[n] -> endTerm()
  :: asks[n] != RELEASE && granted[n] && !IN_TIME
  :: asks[n] == ACQUIRE && granted[n] && IN_TIME -> openTerm(grantedEpoch[n])
  :: asks[n] == RENEW && granted[n] && IN_TIME && TERM_LIVES(n) -> trustFromSending()
  :: asks[n] == RENEW && granted[n] && IN_TIME && !TERM_LIVES(n) ->
#ifdef MAY_ADOPT
       if :: !leads[n] && MAY_ADOPT(grantedEpoch[n]) -> openTerm(grantedEpoch[n]) :: else -> endTerm() fi
#else
       endTerm() /* R4: the reply came after the term's end, and changes nothing. */
#endif
  fi;
  forget()
}

/* The node waits no longer. The request is lost, or executed at some later time, or it has been executed already. */
inline abandon() {
#ifndef LIVE
  if
  :: asked[n] && !late[n] -> printf("node %d waits no longer; its %e is still on the way\n", n, asks[n]);
       late[n] = true; lateAsks[n] = asks[n]; lateFor[n] = asksFor[n]; lateFrom[n] = ME(n)
  :: true -> printf("node %d waits no longer; request or reply are lost\n", n)
  fi;
#endif
  forget()
}

proctype Node(byte n) {
  do
  :: d_step { RUNS(n) && !leads[n] && MAY_ASK(n) -> ask(ACQUIRE, 0) }
  :: d_step { RUNS(n) && TERM_LIVES(n) && MAY_ASK(n) -> ask(RENEW, term[n]) }
  :: d_step { RUNS(n) && answered[n] -> hearAnswer() }
#ifndef HOLD
  :: d_step { RUNS(n) && leads[n] && trust[n] == 0 ->
       printf("node %d ends its term: the trust has run out\n", n); endTerm() }
#endif

#ifdef CHECK_g1
  :: d_step { RUNS(n) && GATE(n) && !writes[n] && !asserted[n] ->
       printf("node %d sends a write of epoch %d\n", n, term[n]); writes[n] = true; stamp[n] = term[n] }
#endif

#ifndef LIVE
  /* R9: the gate is shut and the term over before the release is sent. */
  :: d_step { RUNS(n) && leads[n] && MAY_ASK(n) -> ask(RELEASE, term[n]); endTerm() }

  /* The request times out: an unknown outcome. It is lost, or executed later without anyone waiting. */
  :: atomic { RUNS(n) && (asked[n] || answered[n]) ->
#ifdef UNKNOWN_IS_SUCCESS
       if :: asks[n] == RENEW && TERM_LIVES(n) && age[n] < FENCE -> trustFromSending() :: else fi;
#endif
       abandon() }

  /* R3: a running lease of this incarnation without a live term, and without an acquire under way, is released by its
   * exact epoch. (The node learns of it from its beat; the delay of the release stands for the delay of the beat.) */
#if defined(ADOPT_AT_SIGHT)   /* It is taken up instead, and trusted from the moment it is seen, */
  :: d_step { RUNS(n) && !leads[n] && MAY_ASK(n) && holder == ME(n) && left > 0 -> openTerm(epoch) }
#elif defined(MAY_ADOPT)      /* or from the sending of a renewal (ADOPT_UNOPENED: only if it never opened a term). */
  :: d_step { RUNS(n) && !leads[n] && MAY_ASK(n) && holder == ME(n) && left > 0 && MAY_ADOPT(epoch) -> ask(RENEW, epoch) }
#else
  :: d_step { RUNS(n) && !leads[n] && MAY_ASK(n) && holder == ME(n) && left > 0 -> ask(RELEASE, epoch) }
#endif
#ifdef REAP_WHILE_ASKING /* Released although the reply of the acquire may still come and be believed. */
  :: d_step { RUNS(n) && !leads[n] && asks[n] == ACQUIRE && holder == ME(n) && left > 0 && !late[n] ->
       late[n] = true; lateAsks[n] = RELEASE; lateFor[n] = epoch; lateFrom[n] = ME(n) }
#endif
#endif

#ifdef FREEZE
  :: d_step { RUNS(n) && frozen == NONE -> printf("node %d freezes\n", n); frozen = n }
#endif
  :: atomic { RUNS(n) && crashes < CRASHES ->
       printf("node %d crashes\n", n); crashes++; up[n] = false; endTerm(); abandon() }
#ifdef LOCKS
  :: d_step { !up[n] && lock != n -> up[n] = true; incarnation[n] = 1 }
#else
  :: d_step { !up[n] -> up[n] = true; incarnation[n] = 1 }
#endif
  od
}

/* ---- The server. ---- */

#ifdef LIVE
#define ROOM true /* An endless run reuses the epochs: what matters there is only that they differ from the last. */
#define NEXT_EPOCH (epoch % 3 + 1)
#else
#define ROOM (epoch % STRIDE < GRANTS && (epoch > 0 || n == 0)) /* The nodes are alike: the first lease goes to node 0. */
#define NEXT_EPOCH (epoch + 1)
#endif

/* R8: the assert holds its locks until the commit, and a change of the epoch waits for them. */
#if defined(CHECK_g1) && !defined(NO_FENCE) && !defined(SPLIT_GUARD)
#define NO_ASSERT_OPEN (!asserted[0] && !asserted[1])
#else
#define NO_ASSERT_OPEN true
#endif

#if defined(LOCK_ONLY) /* The session lock is the authority, not the row. */
#define MAY_ACQUIRE (lock == NONE)
#define MAY_RENEW(who, e) (lock == n && holder == who && epoch == e)
#elif defined(HOLD)    /* R7: an expired lease stays with its holder while its session holds the lock. */
#define MAY_ACQUIRE (left == 0 && (lock == NONE || holder % N != lock))
#ifdef HOLD_WITHOUT_LOCK
#define MAY_RENEW(who, e) (holder == who && epoch == e)
#else
#define MAY_RENEW(who, e) (holder == who && epoch == e && (left > 0 || lock == n))
#endif
#else
#define MAY_ACQUIRE (left == 0)
#ifdef RENEW_EXPIRED
#define MAY_RENEW(who, e) (holder == who && epoch == e)
#else
#define MAY_RENEW(who, e) (holder == who && epoch == e && left > 0)
#endif
#endif

inline watchEpoch() {
#ifdef CHECK_g2
  repeated = repeated || epoch <= highest;
#endif
#if defined(CHECK_g1) || defined(CHECK_g2)
  highest = (epoch > highest -> epoch : highest)
#else
  skip
#endif
}

/* R3: the first acquire on another database than the row's stamps it, raises the epoch above every epoch that may have
 * been lost, and lets nobody in before a trust given by the lost row has run out. */
inline stampIdentity() {
#ifdef PROMOTIONS
#ifndef NO_QUARANTINE
  left = TTL;
#endif
#if defined(EPOCH_GOES_ON)
  epoch = epoch + 1;
#elif defined(EPOCH_BY_TIMELINE)
  epoch = (epoch + 1 > (timeline - 1) * STRIDE -> epoch + 1 : (timeline - 1) * STRIDE);
#else
  epoch = (epoch + 1 > promotions * STRIDE -> epoch + 1 : promotions * STRIDE);
#endif
  rowTimeline = timeline; holder = NONE;
  watchEpoch()
#else
  skip
#endif
}

inline grant(who) {
  epoch = NEXT_EPOCH; holder = who; left = TTL; won = true;
  watchEpoch();
#ifdef CHECK_over
  released = false;
#endif
#ifdef LOCKS
  if :: lock == NONE && up[n] && who == ME(n) -> lock = n :: else fi
#endif
}

#ifdef RENEW_ANY_DATABASE /* A renewal does not look at the identity. */
#define RENEWABLE true
#else
#define RENEWABLE SAME_DATABASE
#endif

inline release(who) {
#ifdef CHECK_own
  robbed = robbed || (holder != who && left > 0);
#endif
#ifdef CHECK_over
  released = true;
#endif
  left = 0; won = true;
#ifdef LOCKS
  if :: lock == n -> lock = NONE :: else fi
#endif
}

inline execute(what, who, e) {
  if
  :: what == ACQUIRE && !SAME_DATABASE -> stampIdentity()
  :: what == ACQUIRE && SAME_DATABASE && MAY_ACQUIRE && ROOM -> grant(who)
  :: what == ACQUIRE && SAME_DATABASE && !(MAY_ACQUIRE && ROOM)
  :: what == RENEW && RENEWABLE && MAY_RENEW(who, e) ->
#ifdef CHECK_over
       revived = revived || released;
#endif
       left = TTL; won = true
  :: what == RENEW && !(RENEWABLE && MAY_RENEW(who, e))
#ifdef RELEASE_UNGUARDED /* Whatever lease there is gets released. */
  :: what == RELEASE -> release(who)
#else
  :: what == RELEASE && SAME_DATABASE && holder == who && epoch == e -> release(who)
  :: what == RELEASE && !(SAME_DATABASE && holder == who && epoch == e)
#endif
  fi;
  printf("server: %e of node %d (epoch %d): granted %d; the row has epoch %d, expires in %d\n", what, n, e, won, epoch, left)
}

#if defined(NO_FENCE)
#define ASSERT_PASSES true
#elif defined(CURRENT_EPOCH)     /* The check names the node's epoch of today, not that of the term which began the work. */
#define ASSERT_PASSES ((leads[n] -> term[n] : stamp[n]) == epoch)
#elif defined(ASSERT_EPOCH_ONLY) /* The assert does not look at the identity of the database. */
#define ASSERT_PASSES (stamp[n] == epoch)
#else
#define ASSERT_PASSES (stamp[n] == epoch && SAME_DATABASE)
#endif

proctype Server(byte n) { /* The sessions of node n. */
  bool won;
  do
  :: d_step { asked[n] && (asks[n] != ACQUIRE || NO_ASSERT_OPEN) ->
       execute(asks[n], ME(n), asksFor[n]);
       asked[n] = false; asksFor[n] = 0; answered[n] = true; granted[n] = won;
       if :: won -> grantedEpoch[n] = epoch :: else fi;
       won = false }

#ifndef LIVE
  :: d_step { late[n] && (lateAsks[n] != ACQUIRE || NO_ASSERT_OPEN) ->
       execute(lateAsks[n], lateFrom[n], lateFor[n]);
       late[n] = false; lateAsks[n] = 0; lateFor[n] = 0; lateFrom[n] = 0; won = false }
#endif

#ifdef CHECK_g1
  :: d_step { writes[n] -> writes[n] = false;
       printf("server: asserts epoch %d for a write of node %d\n", stamp[n], n);
       if :: ASSERT_PASSES -> asserted[n] = true :: else -> stamp[n] = 0 fi }
  :: d_step { asserted[n] -> printf("server: commits a write of epoch %d; the highest is %d\n", stamp[n], highest);
       stale = stale || stamp[n] < highest; asserted[n] = false; stamp[n] = 0 }
  :: d_step { asserted[n] -> asserted[n] = false; stamp[n] = 0 } /* Rolled back. */
#endif

#ifdef LOCKS
#ifdef LIVE
  :: d_step { lock == n && !up[n] -> lock = NONE } /* The backend notices that its client is gone. */
#else
  /* A session may also end under a living client, who is not told. */
  :: d_step { lock == n -> printf("server: the session of node %d ends\n", n); lock = NONE }
#endif
  :: d_step { lock == NONE && leads[n] && up[n] && holder == ME(n) && epoch == term[n] -> lock = n }
#endif
  od
}

/* ---- Time. ---- */

inline tickRow() { left = (left > 0 -> left - 1 : 0) }

inline tickNode(i) {
  trust[i] = (trust[i] > 0 -> trust[i] - 1 : 0);
  age[i] = ((asked[i] || answered[i]) && age[i] < FENCE -> age[i] + 1 : age[i]);
#ifdef LIVE
  tried[i] = false
#endif
}

#ifdef LIVE /* A timely network: no request is under way for longer than a tick, except that of a frozen node. */
#define MAY_TICK ((frozen == 0 || !(asked[0] || answered[0])) && (frozen == 1 || !(asked[1] || answered[1])))
#else
#define MAY_TICK true
#endif

active proctype Clock() {
#ifdef CLOCK_DRIFT
  byte even = FENCE; /* Ticks until the database's clock may gain again. */
#endif
  do
  :: d_step { MAY_TICK -> printf("tick\n");
       tickRow(); tickNode(0); tickNode(1);
#ifdef CLOCK_DRIFT
       even = (even > 0 -> even - 1 : 0)
#endif
     }
#ifdef CLOCK_DRIFT
  :: d_step { left > 0 && even == 0 -> printf("tick of the database alone\n"); tickRow(); even = FENCE }
#endif
#ifdef CLOCK_FREE
  :: d_step { left > 0 -> printf("tick of the database alone\n"); tickRow() }
#endif
#ifdef CLOCK_JUMP
  :: d_step { left > 0 -> printf("the database's clock jumps\n"); left = 0 }
#endif
  od
}

/* ---- A promotion that loses commits. ---- */

#ifdef PROMOTIONS
active proctype Replica() {
  /* Of all that the replica receives only the last counts, so it is enough to copy once, at any time. */
  d_step { printf("the replica has all up to here\n"); oldEpoch = epoch; oldHolder = holder; oldLeft = left };
  /* The second promotion, if there is one, is of a replica that never followed the first: the same old row, and a
   * timeline of the same number. */
  do
  :: d_step { promotions < PROMOTIONS -> printf("the replica is promoted\n");
       promotions++; timeline = 2; rowTimeline = 1;
       epoch = oldEpoch; holder = oldHolder; left = oldLeft;
       if :: promotions == PROMOTIONS -> oldEpoch = 0; oldHolder = NONE; oldLeft = 0 :: else fi;
#ifdef LOCKS
       lock = NONE;
#endif
#ifdef CHECK_g1
       asserted[0] = false; asserted[1] = false;
       stamp[0] = (writes[0] -> stamp[0] : 0); stamp[1] = (writes[1] -> stamp[1] : 0)
#endif
     }
  od
}
#endif

init { atomic { run Node(0); run Server(0); run Node(1); run Server(1) } }

/* ---- The properties. ---- */

#ifdef CHECK_g1
ltl g1 { [] !stale }
#endif
#ifdef CHECK_g2
ltl g2 { [] (!repeated && !reopened) }
#endif
#ifdef CHECK_g3
ltl g3 { [] !(GATE(0) && GATE(1)) }
#endif
#ifdef CHECK_own
ltl own { [] !robbed }
#endif
#ifdef CHECK_over
ltl over { [] !revived }
#endif
#ifdef CHECK_l1
ltl l1 { [] <> (GATE(0) || GATE(1)) }
#endif
