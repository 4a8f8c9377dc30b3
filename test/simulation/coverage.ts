import type { EndReason } from "../../src/election/core/elector-state.js";
import type { AcquireCause, LossReason, VoidReason } from "../../src/election/core/lease-rules.js";
import type { AcquireReply, BeatAnswer, Notice, WaitReply } from "../../src/election/core/messages.js";
import { type FaultKind, faultKinds } from "./fault-kinds.js";

/**
 * How often each thing happened over all seeds. A simulator that never tried something proves nothing about it, so what
 * is listed here has to have happened. The lists are complete by their types: a new reason fails to compile until it is
 * listed.
 */
type Names<Name extends string> = Readonly<Record<Name, "seen" | "unreachable">>;

const acquireReplies: Names<AcquireReply["kind"]> = {
  acquired: "seen",
  held: "seen",
  reserved: "seen",
  stalled: "seen",
  lingering: "seen",
  grace: "seen",
  void: "seen",
  quarantined: "seen",
  blocked: "seen",
};
const causes: Names<AcquireCause> = {
  first: "seen",
  released: "seen",
  handover: "seen",
  expired: "seen",
  evidence: "seen",
};
const voids: Names<VoidReason | "lingering"> = {
  lease_only: "seen",
  unseen: "seen",
  lock_not_held: "unreachable",
  killed: "seen",
  lingering: "seen",
};
const losses: Names<LossReason> = { superseded: "seen", expired: "seen", database_changed: "seen" };
const ends: Names<EndReason> = {
  ...losses,
  trust_ran_out: "seen",
  stepped_down: "seen",
  draining: "seen",
  work_failed: "seen",
  drain_overrun: "seen",
};
const renewals: Names<NonNullable<BeatAnswer["renewal"]>["kind"]> = { renewed: "seen", unknown: "seen", lost: "seen" };
const waits: Names<WaitReply["kind"]> = { locked: "seen", timeout: "seen", unheld: "seen" };
const notices: Names<Notice["kind"]> = { elected: "seen", released: "seen" };
const writes = { committed: "seen", refused: "seen", aborted: "seen", unknown: "seen" } as const;
const messages = {
  "lost request": "seen",
  "lost reply": "seen",
  "held by a partition": "seen",
  "late reply": "seen",
  "duplicate reply": "seen",
  "failed request": "seen",
  "run after the client left": "seen",
  "refused connection": "seen",
} as const;
const acts = { "at an open gate": "seen", "at a shut gate": "seen", "first thing after a resume": "seen" } as const;

const faults = Object.fromEntries(faultKinds.map((kind) => [kind, "seen"])) as Names<FaultKind>;

const groups = {
  fault: faults,
  acquire: acquireReplies,
  cause: causes,
  void: voids,
  loss: losses,
  end: ends,
  renewal: renewals,
  wait: waits,
  notice: notices,
  write: writes,
  message: messages,
  act: acts,
};
type Groups = typeof groups;

export class Coverage {
  private readonly counts = new Map<string, number>();

  count<Group extends keyof Groups>(group: Group, name: keyof Groups[Group] & string): void {
    const key = `${group}/${name}`;
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
  }

  /** What should have happened and did not, or happened though it was thought unreachable. */
  gaps(): readonly string[] {
    return this.rows()
      .filter(({ expected, count }) => (expected === "seen") !== count > 0)
      .map(({ key, expected }) => (expected === "seen" ? `${key} never happened` : `${key} is not unreachable`));
  }

  table(): string {
    return this.rows()
      .map(({ key, count }) => `${key.padEnd(36)} ${String(count).padStart(10)}`)
      .join("\n");
  }

  private rows(): { key: string; expected: string; count: number }[] {
    return Object.entries(groups).flatMap(([group, names]) =>
      Object.entries(names).map(([name, expected]) => {
        const key = `${group}/${name}`;
        return { key, expected, count: this.counts.get(key) ?? 0 };
      }),
    );
  }
}
