import type { SettledReport } from "../core/agent/outbox.js";
import type { AgentParts } from "./agent-parts.js";

/** Sends results until each has its answer, one batch after the other: what is ready meanwhile is the next. */
export async function sendResults(parts: AgentParts): Promise<void> {
  const { outbox, outboxChanged } = parts;
  while (!parts.isOver) {
    const reports = outbox.next();
    if (reports.length === 0) {
      await outboxChanged.wait();
      continue;
    }
    const answer = await parts.link.report(reports, parts.over.signal);
    switch (answer.kind) {
      case "served":
        settle(parts, outbox.answered(answer.answer));
        break;
      case "refused":
        settle(parts, outbox.refused(answer.code, answer.message));
        break;
      case "again":
      case "called_off":
      case "hopeless":
        outbox.unanswered();
        break;
    }
  }
}

function settle(parts: AgentParts, settled: readonly SettledReport[]): void {
  const { leases, counts, settings } = parts;
  for (const { report, answer } of settled) {
    const { jobId, jobEpoch } = report;
    leases.settled(report);
    counts[answer.kind] += 1;
    if (answer.kind === "stale") {
      settings.log.warn({ job_id: jobId, job_epoch: jobEpoch }, "a result came too late: the job is not this agent's");
    } else if (answer.kind === "refused") {
      settings.log.error({ job_id: jobId, job_epoch: jobEpoch, error: answer.code }, "a result was refused");
    }
  }
  parts.leasesChanged.notify();
  parts.roomChanged.notify();
}
