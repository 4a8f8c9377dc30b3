import type { Checker } from "../checker.js";
import type { FaultKind, HistoryEvent } from "../history.js";

/** The events of a kind; some share theirs with another. */
type OfKind<Kind, Event = HistoryEvent> = Event extends { readonly kind: infer Own }
  ? Kind extends Own
    ? Event
    : never
  : never;

/** An event as a test tells it: what it leaves out is filled in, and `at` counts on by a millisecond. */
type Told<Kind extends HistoryEvent["kind"]> = { readonly kind: Kind } & Partial<Omit<OfKind<Kind>, "kind">>;
export type AnyTold = { [Kind in HistoryEvent["kind"]]: Told<Kind> }[HistoryEvent["kind"]];

const plain: { readonly [Kind in HistoryEvent["kind"]]: object } = {
  run: {
    seed: 1,
    commit: "c",
    minutes: 1,
    faults: [],
    ttlMs: 2_000,
    fenceMs: 1_500,
    batch: 2,
    longestGapMs: 4_000,
  },
  process: { what: "started", pid: 1 },
  fault: { fault: "kill", number: 1, phase: "begin", on: "a" },
  elected: { role: "r", epoch: "1" },
  lost: { role: "r", epoch: "1" },
  gate: { role: "r", epoch: "1" },
  write: { role: "r", epoch: "1", before: 0, after: 1, outcome: "done" },
  witness: { n: 1, role: "r", epoch: "1", before: 0, after: 1 },
  effect: { sink: "trusting", node: "a-1", role: "r", epoch: "1", accepted: true },
  enqueue: { lane: "l", numbers: [1], outcome: "done" },
  delivery: { stage: "ingress", lane: "l", number: 1, position: 1, epoch: "1", attempt: 1 },
  lost_track: { role: "r", epoch: "1" },
  submit: { key: "k", outcome: "done", id: "j" },
  task: { what: "leased", agent: "x", job: "j", attempt: 1, outcome: "done", replay: false },
  job: { job: "j", key: "k", state: "succeeded", attempt: 1, result: "r" },
  tick: { cron: "c", second: 1, job: "j" },
  mllp_sent: { sender: "s", controlId: "m1", number: 1, tries: 1, outcome: "done" },
  mllp_received: { outbound: "o", sender: "s", controlId: "m1", number: 1, intact: true },
  poll: { node: "a-1", role: "r", outcome: "done", primary: true, epoch: "1" },
  stream: { stream: "jobs", reader: "x", id: "g-1" },
  resources: { when: "baseline", of: "a-1" },
  rejection: { code: "STALE_EPOCH" },
};

/** Acts take place at the moment at which they are told, unless they say otherwise; processes are "a-1" unless they do. */
export function made(...told: readonly AnyTold[]): readonly HistoryEvent[] {
  let clock = 0;
  return told.map((event) => {
    const { at = clock + 1 } = event;
    clock = Math.max(clock, at);
    const act = { from: at, to: at, gateAt: at };
    return { by: "a-1", at, ...act, ...plain[event.kind], ...event } as unknown as HistoryEvent;
  });
}

/** A fault from its beginning to its end. */
export function fault(
  kind: FaultKind,
  from: number,
  to: number,
  more: Partial<Told<"fault">> = {},
): readonly AnyTold[] {
  const number = more.number ?? 1;
  return [
    { kind: "fault", fault: kind, phase: "begin", number, at: from, ...more },
    { kind: "fault", fault: kind, phase: "end", number, at: to, ...more },
  ];
}

/** The texts of what a checker finds, in one, so that a test can say what must be part of it. */
export function foundBy(checker: Checker, ...told: readonly AnyTold[]): string {
  return checker
    .check(made(...told))
    .map(({ text }) => text)
    .join("\n");
}
