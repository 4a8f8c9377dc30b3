import type { Transition } from "../api/cluster.js";

/** Why leadership changed, in words for people who were not there. */
const words: Readonly<Record<string, string>> = {
  first: "first leader of this role",
  evidence: "the leader crashed",
  expired: "the leader fell silent until its lease ran out",
  handover: "handed over as asked",
  released: "the leader had given it up",
  stepped_down: "stepped down as asked",
  draining: "the node was drained or stopped",
  work_failed: "the leader's own work failed",
  drain_overrun: "giving up took too long",
  trust_ran_out: "the leader could not reach the database in time",
  superseded: "another node had taken over",
  database_changed: "the database turned out to be another one",
};

export function reasonInWords(reason: string): string {
  return words[reason] ?? reason.replaceAll("_", " ");
}

export type Tone = "good" | "warn" | "bad" | "info" | "quiet";

/** What kind of change it was, in a word. */
export function kindOf({ event, reason }: Pick<Transition, "event" | "reason">): string {
  if (event !== "elected") return event;
  if (reason === "first") return "first";
  return reason === "evidence" || reason === "expired" ? "failover" : "handover";
}

/** How alarming a change is: a crash more than a wish. */
export function toneOf({ event, reason }: Pick<Transition, "event" | "reason">): Tone {
  if (event === "quarantined") return "bad";
  if (event === "advanced") return "warn";
  if (event === "released") return reason === "stepped_down" || reason === "draining" ? "quiet" : "warn";
  if (reason === "evidence" || reason === "expired") return "bad";
  return reason === "first" ? "info" : "good";
}
