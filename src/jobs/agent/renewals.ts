import type { DueRenewal, HeldTask } from "../core/agent/lease-book.js";
import type { AgentParts } from "./agent-parts.js";
import { complaints } from "./work-link.js";

/** Keeps the leases of tasks under way, and tells how far they are, until the agent is over. */
export async function keepLeases(parts: AgentParts, lose: (tasks: readonly HeldTask[]) => void): Promise<void> {
  const { leases, leasesChanged, settings } = parts;
  const renewing = new Set<Promise<void>>();
  while (!parts.isOver) {
    lose(leases.ranOut(settings.clock.mono()));
    for (const due of leases.due(settings.clock.mono())) {
      const one = renew(parts, due, lose).finally(() => {
        renewing.delete(one);
        leasesChanged.notify();
      });
      renewing.add(one);
    }
    const dueAt = leases.dueAt();
    await leasesChanged.wait(dueAt === null ? null : Math.max(0, dueAt - settings.clock.mono()));
  }
  await Promise.all(renewing);
}

async function renew(parts: AgentParts, due: DueRenewal, lose: (tasks: readonly HeldTask[]) => void): Promise<void> {
  const { leases, settings } = parts;
  const { leaseId } = due;
  const answer = await parts.link.renew(due, parts.over.signal).catch((error: unknown) => {
    settings.log.error({ lease_id: leaseId, err: error }, "a lease could not be renewed: it is tried again");
    return { kind: "again" } as const;
  });
  switch (answer.kind) {
    case "served":
      return lose(leases.renewed(leaseId, { sentAt: answer.sentAt, ...answer.answer }));
    case "refused":
      // Without the progress it may be taken.
      if (complaints.includes(answer.code) && due.progress.length > 0) leases.kept({ leaseId, progress: [] });
      else lose(leases.lost(leaseId));
      settings.log.warn({ lease_id: leaseId, error: answer.code }, "a lease was not renewed as it was asked");
      return;
    case "again":
    case "called_off":
    case "hopeless":
      return leases.kept(due);
  }
}
