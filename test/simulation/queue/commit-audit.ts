import type { MemoryLane } from "../../../src/store/memory/queue-tables.js";
import type { Coverage } from "./coverage.js";
import type { Entry, History, LaneHistory } from "./history.js";
import type { Plans } from "./plans.js";
import { type BookRequest, fenceOf } from "./request.js";
import type { Auditor, QueueServer } from "./server.js";
import type { QueueRule } from "./violation.js";

type Row = Omit<MemoryLane, "messages">;

/** Looks at the database before and after every commit, and judges what has changed. */
export class CommitAudit implements Auditor {
  private readonly server: QueueServer;
  private readonly history: History;
  private readonly plans: Plans;
  private readonly coverage: Coverage;
  private readonly violate: (rule: QueueRule, message: string) => void;
  private readonly maxReclaims: number;
  private rows = new Map<number, Row>();
  private letters = 0;

  constructor(around: {
    readonly server: QueueServer;
    readonly history: History;
    readonly plans: Plans;
    readonly coverage: Coverage;
    readonly violate: (rule: QueueRule, message: string) => void;
    readonly maxReclaims: number;
  }) {
    this.server = around.server;
    this.history = around.history;
    this.plans = around.plans;
    this.coverage = around.coverage;
    this.violate = around.violate;
    this.maxReclaims = around.maxReclaims;
  }

  before(): void {
    this.rows = new Map([...this.server.tables.lanes].map(([id, lane]) => [id, rowOf(lane)]));
    this.letters = this.server.tables.deadLetters.length;
  }

  after(request: BookRequest): void {
    const fence = fenceOf(request);
    const finished: Entry[] = [];
    const added: Entry[] = [];
    for (const lane of this.server.tables.lanes.values()) {
      const now = rowOf(lane);
      const before = this.rows.get(lane.id) ?? { ...now, newest: 0, done: 0, claimed: 0, claim: 0, claimEpoch: 0n };
      const history = this.history.lane(lane.id, lane.stage, lane.name);
      added.push(...this.taken(lane, history, isRedrive(request)));
      finished.push(...this.advanced(request, now, history));
      if (isSame(before, now)) continue;
      if (fence !== null && fence.epoch < this.server.epoch) {
        this.violate("G1", `${request.method} under epoch ${fence.epoch} changed ${nameOf(now)}`);
      }
      this.judge(request, before, now, history);
    }
    this.checkProduct(request, finished, added);
    if (request.method === "recover") this.checkRecovery(fence?.epoch ?? 0n);
  }

  /** What is new in a lane. */
  private taken(lane: MemoryLane, history: LaneHistory, isRedriven: boolean): Entry[] {
    const added: Entry[] = [];
    while (history.entries.length < lane.newest) {
      const position = history.entries.length + 1;
      const message = lane.messages.get(position);
      const plan = this.plans.get(message?.body.toString() ?? "");
      if (message === undefined || plan === undefined) {
        this.violate("G4", `${nameOf(lane)} has a gap at ${position}`);
        return added;
      }
      if (isRedriven) this.coverage.count("head", "redriven");
      added.push(this.history.add(history, plan, message.segment, isRedriven));
    }
    if (!lane.busy && lane.newest > lane.done) {
      this.violate(
        "G4",
        `${nameOf(lane)} is at rest with ${lane.newest - lane.done} messages: no new leader looks there`,
      );
    }
    return added;
  }

  /** What is finished or dead now, and was not before. Answers with what was finished. */
  private advanced(request: BookRequest, now: Row, history: LaneHistory): Entry[] {
    if (now.done < history.done) this.violate("G5", `${nameOf(now)} went back to ${now.done}`);
    const died = this.server.tables.deadLetters.slice(this.letters);
    const finished: Entry[] = [];
    while (history.done < now.done) {
      history.done += 1;
      const entry = this.history.at(history, history.done);
      if (entry === undefined) {
        this.violate("G4", `${nameOf(now)} is finished beyond its end, up to ${history.done}`);
        return finished;
      }
      const letter = died.find(
        ({ stage, lane, position }) => stage === now.stage && lane === now.name && position === history.done,
      );
      if (letter === undefined) {
        this.finish(request, entry);
        finished.push(entry);
      } else this.die(request, entry, letter);
    }
    return finished;
  }

  private finish(request: BookRequest, entry: Entry): void {
    entry.state = "finished";
    const claim = request.claims.get(entry.lane.id);
    if (request.method !== "settle" || claim === undefined || !entry.workedUnder.has(claim)) {
      this.violate("G4", `${entry.plan.name} was finished by ${request.method}, and its handler had not been`);
    }
  }

  private die(
    request: BookRequest,
    entry: Entry,
    letter: { readonly reason: string; readonly attempts: number; readonly reclaims: number },
  ): void {
    entry.state = "dead";
    const { name } = entry.plan;
    if (letter.reason === "") this.violate("G4", `${name} died without a reason`);
    if (request.method === "recover") {
      this.coverage.count("recovery", "quarantine");
      if (letter.reclaims <= this.maxReclaims) {
        this.violate("quarantine", `${name} was put aside after ${letter.reclaims} crashes`);
      }
    } else if (request.method === "settle") {
      this.coverage.count("head", "dead");
      // A function that hung has been told of before it ended.
      const before = this.rows.get(entry.lane.id);
      const isTold = before?.done === entry.position - 1 && before.attempts === letter.attempts;
      if (!isTold) entry.failures += 1;
      if (letter.attempts !== entry.failures) {
        this.violate("attempt", `${name} died of ${letter.attempts} attempts, and failed ${entry.failures} times`);
      }
    } else if (request.method === "skip") this.coverage.count("head", "skipped");
    else this.violate("G4", `${name} died of ${request.method}`);
  }

  private judge(request: BookRequest, before: Row, now: Row, history: LaneHistory): void {
    const { method } = request;
    const wasInFlight = before.claimed > before.done;
    const isInFlight = now.claimed > now.done;
    if (method === "claim") this.judgeClaim(request, before, now, history);
    if (method === "settle" && wasSettled(before, now)) this.judgeSettlement(request, now, history);
    if (!isInFlight) history.claim = null;
    if (wasInFlight && !isInFlight && method === "sweep") this.coverage.count("recovery", "reclaimed by sweep");
    if (wasInFlight && !isInFlight && method === "recover") {
      const isOlder = before.claimEpoch < (fenceOf(request)?.epoch ?? 0n);
      this.coverage.count("recovery", isOlder ? "reclaimed by recover" : "given back by recover");
      if (!isOlder && now.reclaims > before.reclaims) {
        this.violate("quarantine", `${nameOf(now)}: a leader that lost track counted as a crash`);
      }
    }
    this.judgeAttempts(request, before, now, history);
  }

  private judgeClaim(request: BookRequest, before: Row, now: Row, history: LaneHistory): void {
    const name = nameOf(now);
    if (before.claimed > before.done) this.violate("G5", `${name} was claimed while something of it is in flight`);
    if (before.paused || before.blocked) this.violate("G5", `${name} was claimed while it is held`);
    if ((before.waitUntil ?? 0) > this.server.now()) this.violate("G5", `${name} was claimed while its head waits`);
    history.claim = request.id;
  }

  private judgeSettlement(request: BookRequest, now: Row, history: LaneHistory): void {
    if (request.claims.get(now.id) === history.claim) return;
    this.violate("claim", `${nameOf(now)} was settled by a claim that it is not in`);
  }

  private judgeAttempts(request: BookRequest, before: Row, now: Row, history: LaneHistory): void {
    const head = this.history.at(history, now.done + 1);
    if (head === undefined || now.attempts === (before.done === now.done ? before.attempts : 0)) return;
    if (request.method === "settle") {
      head.failures += 1;
      this.coverage.count("head", now.blocked ? "blocked" : "retry");
    }
    if (now.attempts !== head.failures) {
      const counts = `${now.attempts} attempts, and failed ${head.failures} times`;
      this.violate("attempt", `after ${request.method} ${head.plan.name} has ${counts}`);
    }
  }

  /** What was finished by a commit has its product in the same commit, and nothing else has any. */
  private checkProduct(request: BookRequest, finished: readonly Entry[], added: readonly Entry[]): void {
    const expected = finished.flatMap(({ plan }) => plan.produces.map(({ name }) => name));
    const found = added
      .filter(({ plan }) => plan.producedBy !== null && !isRedrive(request))
      .map((one) => one.plan.name);
    const missing = expected.filter((name) => !found.includes(name));
    const early = found.filter((name) => !expected.includes(name));
    if (missing.length > 0) this.violate("handoff", `${missing.join(", ")} was not handed on`);
    if (early.length > 0)
      this.violate("handoff", `${early.join(", ")} was handed on and what it comes from not finished`);
  }

  private checkRecovery(epoch: bigint): void {
    for (const lane of this.server.tables.lanes.values()) {
      if (lane.claimed > lane.done && lane.claimEpoch < epoch) {
        this.violate("recovery", `${nameOf(lane)} is still claimed by epoch ${lane.claimEpoch}`);
      }
    }
  }
}

function rowOf({ messages: _messages, ...row }: MemoryLane): Row {
  return row;
}

function nameOf({ stage, name }: { readonly stage: string; readonly name: string }): string {
  return `lane ${stage}/${name}`;
}

function isSame(one: Row, other: Row): boolean {
  return (Object.keys(one) as (keyof Row)[]).every((field) => one[field] === other[field]);
}

function wasSettled(before: Row, now: Row): boolean {
  return before.done !== now.done || before.claimed !== now.claimed || before.attempts !== now.attempts;
}

function isRedrive({ method }: BookRequest): boolean {
  return method === "redrive";
}
