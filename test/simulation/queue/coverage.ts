import { faultKinds } from "./fault-kinds.js";

/**
 * How often each thing happened over all seeds. A simulator that never tried something proves nothing about it, so what is
 * listed here has to have happened.
 */
const groups = {
  fault: faultKinds,
  wire: [
    "lost request",
    "lost reply",
    "lost commit",
    "late commit",
    "slow reply",
    "done twice",
    "waited for a row",
    "reply to a dead process",
  ],
  refusal: ["stale fence", "claim gone", "not leader", "unknown outcome", "database away"],
  term: [
    "first",
    "same node again",
    "another node",
    "back again",
    "clean end",
    "failed end",
    "drain overrun",
    "run again in the same term",
    "shut out by a gate that is open by then",
  ],
  intake: ["acknowledged", "duplicate key", "unknown append that was there", "unknown append that was not there"],
  recovery: ["reclaimed by recover", "given back by recover", "reclaimed by sweep", "quarantine"],
  handler: ["done", "threw", "hung until its signal", "took too long", "felled its process", "produced", "abandoned"],
  head: ["retry", "blocked", "dead", "skipped", "redriven"],
  crash: [
    "append sent",
    "append done",
    "append answered",
    "claim sent",
    "claim done",
    "claim answered",
    "settle sent",
    "settle done",
    "settle answered",
    "recover sent",
    "recover done",
    "recover answered",
    "sweep done",
    "rest done",
    "renew done",
  ],
} as const;

type Groups = typeof groups;

export class Coverage {
  private readonly counts = new Map<string, number>();

  count<Group extends keyof Groups>(group: Group, name: Groups[Group][number]): void {
    const key = `${group}/${name}`;
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
  }

  /** For what is made up of two words: it counts where it is listed. */
  countIfListed(group: keyof Groups, name: string): void {
    if ((groups[group] as readonly string[]).includes(name)) this.count(group, name as never);
  }

  gaps(): readonly string[] {
    return this.rows()
      .filter(({ count }) => count === 0)
      .map(({ key }) => `${key} never happened`);
  }

  table(): string {
    return this.rows()
      .map(({ key, count }) => `${key.padEnd(44)} ${String(count).padStart(10)}`)
      .join("\n");
  }

  private rows(): { key: string; count: number }[] {
    return Object.entries(groups).flatMap(([group, names]) =>
      names.map((name) => ({ key: `${group}/${name}`, count: this.counts.get(`${group}/${name}`) ?? 0 })),
    );
  }
}
