import type { HistoryEvent } from "../history.js";
import type { Point } from "../node-order.js";
import type { SmallRun } from "../small-run.js";
import type { Workload } from "../workload.js";
import { EventReaders } from "../workloads/event-readers.js";
import { JobLoad } from "../workloads/job-load.js";
import { Lanes } from "../workloads/lanes.js";
import { MllpFeed } from "../workloads/mllp-feed.js";
import { Register } from "../workloads/register.js";
import type { Replacement } from "./sabotaged-build.js";

/** A build with one promise broken, the checker that has to notice, and what brings it to light. */
export interface Sabotage {
  readonly name: string;
  readonly caughtBy: string;
  /** What it then says, among other things. */
  readonly saying: string;
  readonly replacements: readonly Replacement[];
  readonly workload: () => readonly Workload[];
  readonly play: (run: SmallRun) => Promise<void>;
}

export const batch = 5;
const election = "migrations/0001_election.sql";
const register = (): readonly Workload[] => [new Register()];
const lanes = (): readonly Workload[] => [new Lanes({ lanes: 20, perSecond: 200, batch })];
/** The second agent is now and then too late with its report. */
const jobs = (): readonly Workload[] => [new JobLoad({ perSecond: 20, agents: 3, submitters: 2 })];
const isDone =
  (kind: HistoryEvent["kind"]) =>
  (event: HistoryEvent): boolean =>
    event.kind === kind && "outcome" in event && event.outcome === "done";
const isEnqueued = isDone("enqueue");

/** The intake tells its callers first, and asks the database afterwards. */
const acknowledgedTooSoon: readonly Replacement[] = [
  {
    file: "dist/queue/intake.js",
    old: "const placed = this.place(fresh);\n        this.appender.hold(messagesOf(next));",
    new: `const placed = this.place(fresh);
        fresh.forEach((one, index) => one.resolve({ ...placed.batch.messages[index], duplicate: false }));
        this.appender.hold(messagesOf(next));
        await new Promise((resolve) => setTimeout(resolve, 200));`,
  },
];

/** The leader stands still until another one leads and acts; more than once, since what it does first when it wakes is a matter of chance. */
const freezeWriters =
  (point: Point) =>
  async (run: SmallRun): Promise<void> => {
    for (let round = 0; round < 3; round += 1) {
      const leader = await run.leaderOf("writer");
      await run.freeze(leader, point, async () => {
        await run.leaderOf("writer", leader);
        await run.more(20, ({ kind }) => kind === "effect");
      });
      await run.leaderOf("writer", leader);
    }
  };

async function killTwice(run: SmallRun): Promise<void> {
  for (let round = 0; round < 2; round += 1) {
    await run.more(10, isEnqueued);
    await run.kill(await run.leaderOf("queue"), "in_handler");
  }
  await run.more(10, isEnqueued);
}

/** Nothing is broken, and nothing may be found: so what is found elsewhere is the sabotage's doing, and not that of the play. */
export const trueBuild: Omit<Sabotage, "caughtBy" | "saying"> = {
  name: "the build as it is",
  replacements: [],
  workload: () => [...register(), ...lanes()],
  play: async (run) => {
    await freezeWriters("in_own_transaction")(run);
    await killTwice(run);
  },
};

export const sabotages: readonly Sabotage[] = [
  {
    name: "the fence lets every epoch pass",
    caughtBy: "single writer",
    saying: "added one to something else",
    replacements: [
      {
        file: election,
        old: "  perform pg_advisory_xact_lock_shared(v_lease.fence_key);\n  if current_setting",
        new: "  return;\n  if current_setting",
      },
      {
        file: election,
        old: "begin\n  if current_setting('holdfast.fence', true) is distinct from p_stamp then",
        new: "begin\n  return;\n  if current_setting('holdfast.fence', true) is distinct from p_stamp then",
      },
    ],
    workload: register,
    play: freezeWriters("in_own_transaction"),
  },
  {
    name: "an election raises no epoch",
    caughtBy: "epochs",
    saying: "was given to",
    replacements: [
      {
        file: election,
        old: "    epoch = epoch + 1,\n    holder = p_request",
        new: "    epoch = greatest(epoch, 1),\n    holder = p_request",
      },
    ],
    workload: register,
    play: async (run) => {
      const leader = await run.leaderOf("writer");
      await run.kill(leader);
      await run.leaderOf("writer", leader);
    },
  },
  {
    name: "the gate does not look at its deadline",
    caughtBy: "gates",
    saying: "was open at least",
    replacements: [
      {
        file: "dist/election/core/leading.js",
        old: "return elapsedMs(term.trust.since, mono, wall, readBoot) < term.trust.lengthMs;",
        new: "return true;",
      },
    ],
    workload: register,
    play: freezeWriters("in_transaction"),
  },
  {
    name: "a token for an effect is given without a look at the clock",
    caughtBy: "sinks",
    saying: "the trusting sink took",
    replacements: [
      {
        file: "dist/election/gate.js",
        old: 'if (term === null || term.phase !== "leading" || !this.trusts(term))',
        new: 'if (term === null || term.phase !== "leading")',
      },
    ],
    workload: register,
    play: freezeWriters("in_transaction"),
  },
  {
    name: "a message is acknowledged before it is committed",
    caughtBy: "lost and unexpected",
    saying: "was acknowledged",
    replacements: acknowledgedTooSoon,
    workload: lanes,
    play: killTwice,
  },
  {
    name: "the second of a lane is handed out before the first",
    caughtBy: "order",
    saying: "came right after",
    replacements: [
      {
        file: "dist/queue/deliveries.js",
        old: "for (const stored of messages) {",
        new: "for (const stored of messages.length < 2 ? messages : [messages[1], messages[0], ...messages.slice(2)]) {",
      },
    ],
    workload: lanes,
    play: async (run) => await run.more(20, isEnqueued),
  },
  {
    name: "a crash costs an attempt",
    caughtBy: "repetitions",
    saying: "spent an attempt without a failure",
    replacements: [
      {
        file: "migrations/0003_queue.sql",
        old: "leased_until = null, reclaims = reclaims + (claim_epoch < p_epoch)::integer\n",
        new: "leased_until = null, attempts = attempts + 1, reclaims = reclaims + (claim_epoch < p_epoch)::integer\n",
      },
    ],
    workload: lanes,
    play: killTwice,
  },
  {
    name: "nobody takes over, by evidence or by the end of the lease",
    caughtBy: "leaderless",
    saying: "was led by nobody",
    replacements: [
      {
        file: election,
        old: "  if v_lease.expires_at > v_now then\n    if p_evidence is null or v_lease.holder is null then",
        new: "  if v_lease.expires_at > v_now or v_lease.holder is not null then\n    if true then",
      },
    ],
    workload: register,
    play: async (run) => {
      await run.kill(await run.leaderOf("writer"));
      await run.silence();
    },
  },
  {
    name: "each election leaves descriptors open",
    caughtBy: "resources",
    saying: "descriptors in the end",
    replacements: [
      {
        file: "dist/election/leader-work.js",
        old: "controller = new AbortController();",
        new: `controller = new AbortController();
    leaked = Array.from({ length: 20 }, () => process.getBuiltinModule("node:fs").openSync("/dev/null"));`,
      },
    ],
    workload: register,
    play: async (run) => {
      await run.leaderOf("writer");
      await run.measure("baseline");
      // Whoever takes it: both stand back for a while after they stepped down, and which of them is free first is chance.
      for (let round = 0; round < 4; round += 1) {
        await run.stepDown(await run.leaderOf("writer"), "writer");
        await run.leaderOf("writer");
      }
      await run.measure("after");
    },
  },
  {
    name: "a result of a lease that was replaced is accepted",
    caughtBy: "jobs",
    saying: "was accepted, and",
    replacements: [
      {
        file: "migrations/0004_jobs.sql",
        old: `j.state = 'leased' and j.job_epoch = x.job_epoch and j.lease_id = x.lease_id
      and j.agent = x.agent and x.again is null
    returning x.i`,
        new: `j.reported_epoch is distinct from x.job_epoch and x.again is null
    returning x.i`,
      },
    ],
    workload: jobs,
    play: async (run) => await run.more(150, isDone("submit")),
  },
  {
    name: "an HL7 message is acknowledged before it is committed",
    caughtBy: "messages",
    saying: "was acknowledged, and did not come to",
    replacements: acknowledgedTooSoon,
    workload: () => [new MllpFeed({ senders: 6, perSecond: 60 })],
    play: async (run) => {
      for (let round = 0; round < 3; round += 1) {
        await run.more(20, isDone("mllp_sent"));
        await run.kill(await run.leaderOf("engine"));
      }
      await run.more(20, isDone("mllp_sent"));
    },
  },
  {
    name: "one event in twenty is not sent to those who listen",
    caughtBy: "streams",
    saying: "came right after",
    replacements: [
      {
        file: "dist/server/event-stream.js",
        old: "reading.events.map((event)",
        new: "reading.events.filter(({ id }) => id % 20 !== 0).map((event)",
      },
    ],
    workload: () => [...jobs(), new EventReaders({ readers: 1 })],
    play: async (run) => await run.more(40, isDone("submit")),
  },
];
