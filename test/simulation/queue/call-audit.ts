import type { Message } from "../../../src/queue/message.js";
import type { StoredMessage } from "../../../src/store/queue-contract.js";
import type { Call } from "./deliveries.js";
import type { Entry, History, LaneHistory } from "./history.js";
import type { SimProcess } from "./process.js";
import { type BookRequest, fenceOf } from "./request.js";
import type { SimTerm } from "./term.js";
import type { QueueRule } from "./violation.js";

/** What a term was last handed of a lane. */
interface ClaimInHand {
  readonly request: number;
  readonly first: number;
  readonly last: number;
  /** The next one that may be handed to the handler; null after a failure. */
  next: number | null;
}

/** Looks at every call of a handler. */
export class CallAudit {
  private readonly history: History;
  private readonly violate: (rule: QueueRule, message: string) => void;
  private readonly inHand = new Map<string, ClaimInHand>();
  private readonly running = new Map<LaneHistory, Set<Call>>();
  private readonly claimOf = new Map<Call, ClaimInHand>();

  constructor(history: History, violate: (rule: QueueRule, message: string) => void) {
    this.history = history;
    this.violate = violate;
  }

  /** The messages of a claim have arrived at whoever asked for them. */
  claimed(request: BookRequest, messages: readonly StoredMessage[]): void {
    const epoch = fenceOf(request)?.epoch ?? 0n;
    for (const { lane, position } of messages) {
      const key = `${epoch}/${lane}`;
      const known = this.inHand.get(key);
      if (known?.request === request.id) {
        if (position !== known.last + 1) this.violate("G5", `a claim has ${position} of a lane after ${known.last}`);
        this.inHand.set(key, { ...known, last: position });
      } else this.inHand.set(key, { request: request.id, first: position, last: position, next: position });
    }
  }

  began(term: SimTerm, message: Message): Call | null {
    const lane = this.history.find(message.stage, message.lane);
    const entry = lane === undefined ? undefined : this.history.at(lane, message.position);
    const name = message.body.toString();
    if (lane === undefined || entry === undefined || entry.plan.name !== name) {
      this.violate("G4", `${name} was delivered from where it is not`);
      return null;
    }
    if (!term.mayAct) this.violate("G5", `${name} was delivered after epoch ${term.epoch}`);
    const claim = this.checkOrder(term, entry);
    this.checkAlone(term, lane, name);
    if (!term.isDeposed && message.attempt !== entry.failures + 1) {
      this.violate("attempt", `${name} has attempt ${message.attempt}, and failed ${entry.failures} times`);
    }
    if (message.epoch !== term.epoch) this.violate("G5", `${name} carries epoch ${message.epoch}`);
    entry.deliveries += 1;
    const call = { term, message, plan: entry.plan };
    this.callsIn(lane).add(call);
    if (claim !== null) this.claimOf.set(call, claim);
    return call;
  }

  ended(call: Call, outcome: "worked" | "failed"): void {
    const lane = this.laneOf(call);
    const claim = this.claimOf.get(call);
    this.callsIn(lane).delete(call);
    this.claimOf.delete(call);
    if (outcome === "failed" || claim === undefined) return;
    claim.next = call.message.position + 1;
    this.history.at(lane, call.message.position)?.workedUnder.add(claim.request);
  }

  /** With a process everything ends that runs in it. */
  crashed(process: SimProcess): void {
    for (const calls of this.running.values()) {
      for (const call of calls) if (call.term.process === process) calls.delete(call);
    }
  }

  /** What still runs of a term. */
  runningUnder(term: SimTerm): readonly Call[] {
    return [...this.running.values()].flatMap((calls) => [...calls]).filter((call) => call.term === term);
  }

  private laneOf({ message }: Call): LaneHistory {
    return this.history.find(message.stage, message.lane) as LaneHistory;
  }

  private callsIn(lane: LaneHistory): Set<Call> {
    const known = this.running.get(lane);
    if (known !== undefined) return known;
    const made = new Set<Call>();
    this.running.set(lane, made);
    return made;
  }

  /** Within a claim one after the other, and the first delivery of each after that of all before it. */
  private checkOrder(term: SimTerm, { lane, position, plan }: Entry): ClaimInHand | null {
    const inHand = this.inHand.get(`${term.epoch}/${lane.id}`);
    if (inHand === undefined || inHand.next !== position || position > inHand.last) {
      const expected = inHand === undefined ? "nothing" : String(inHand.next);
      this.violate("G5", `${plan.name} at ${position} was delivered where the claim has ${expected} next`);
    } else inHand.next = null;
    while (lane.delivered + 1 < position) {
      const before = this.history.at(lane, lane.delivered + 1);
      if (before === undefined || (before.deliveries === 0 && before.state !== "dead")) {
        this.violate("G5", `${plan.name} was delivered before ${before?.plan.name ?? "what is before it"}`);
        break;
      }
      lane.delivered += 1;
    }
    return inHand ?? null;
  }

  private checkAlone(term: SimTerm, lane: LaneHistory, name: string): void {
    for (const other of this.callsIn(lane)) {
      if (other.term === term) this.violate("G5", `${name} was delivered while ${other.plan.name} is worked on`);
      else if (!other.term.isDeposed && !term.isDeposed) {
        this.violate("G5", `${name} was delivered while ${other.plan.name} is worked on by epoch ${other.term.epoch}`);
      }
    }
  }
}
