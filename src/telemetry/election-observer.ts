import type { Span } from "@opentelemetry/api";
import type { Logger } from "pino";
import type { Clock } from "../election/clock.js";
import { readClock } from "../election/clock.js";
import { type ElectorState, leaseRemainingMs } from "../election/core/elector-state.js";
import type { LeaseView } from "../election/core/lease.js";
import type { AcquireReply, LinkName } from "../election/core/messages.js";
import type { Epoch, NodeId, Role } from "../election/core/names.js";
import { trustRemainingMs } from "../election/core/trust.js";
import { errorText } from "../errors.js";
import type { ElectionMetrics, ElectionReading } from "./metrics.js";
import { failSpan, openSpan, spanAfterwards, spanNames } from "./traces.js";

/** Where the gauges of a role are read; `lastSeen` speaks for a role that this node does not contend for. */
interface ReadingSource {
  readonly isLeader: () => boolean;
  readonly state: () => ElectorState;
  readonly lastSeen: () => LeaseView | null;
}

/** Turns what elections do into log lines and metrics. Each line of a transition has role, epoch, node_id and reason. */
export class ElectionObserver {
  private readonly log: Logger;
  private readonly metrics: ElectionMetrics;
  private readonly nodeId: NodeId;
  private readonly clock: Clock;
  private lastBeatAt: number | null = null;
  private lastStepAt: number | null = null;
  private warned = "";
  private readonly terms = new Map<Role, Span>();

  constructor(options: {
    readonly log: Logger;
    readonly metrics: ElectionMetrics;
    readonly nodeId: NodeId;
    readonly clock: Clock;
  }) {
    this.log = options.log;
    this.metrics = options.metrics;
    this.nodeId = options.nodeId;
    this.clock = options.clock;
  }

  addRole(role: Role, source: ReadingSource): void {
    this.metrics.addRole(role, () => this.read(role, source));
  }

  private read(role: Role, { isLeader, state, lastSeen }: ReadingSource): ElectionReading {
    const now = readClock(this.clock);
    const known = state().roles.get(role);
    const term = known?.term ?? null;
    return {
      isLeader: isLeader(),
      isHeir: known?.isHeir === true && known.campaign.sighting?.epoch === known.view?.epoch,
      epoch: known?.view?.epoch ?? lastSeen()?.epoch ?? (0n as Epoch),
      tenureSeconds: term === null ? 0 : (now.mono - term.electedAt) / 1000,
      trustRemainingSeconds: term === null ? 0 : Math.max(0, trustRemainingMs(term.trust, now)) / 1000,
      heartbeatAgeSeconds: this.lastBeatAt === null ? 0 : (now.mono - this.lastBeatAt) / 1000,
    };
  }

  elected(role: Role, epoch: Epoch, reason: string, gapMs: number): void {
    this.metrics.acquired.inc({ role });
    if (reason === "evidence" || reason === "expired") this.metrics.failovers.inc({ role });
    if (reason !== "first") this.metrics.failoverSeconds.observe({ role }, gapMs / 1000);
    this.log.info({ role, epoch: Number(epoch), node_id: this.nodeId, reason, gap_ms: Math.round(gapMs) }, "elected");
    const about = this.attributesOf(role, epoch, reason);
    if (reason !== "first") spanAfterwards(spanNames.failover, gapMs, about);
    const span = openSpan(spanNames.term, about);
    if (span !== null) this.terms.set(role, span);
  }

  lost(role: Role, epoch: Epoch, reason: string): void {
    this.metrics.lost.inc({ role, reason });
    const planned = reason === "stepped_down" || reason === "draining";
    this.endTerm(role, reason, planned);
    const line = { role, epoch: Number(epoch), node_id: this.nodeId, reason };
    if (planned) this.log.info(line, "gave the role up");
    else this.log.warn(line, "lost the role");
  }

  private endTerm(role: Role, reason: string, planned: boolean): void {
    const span = this.terms.get(role);
    if (span === undefined) return;
    this.terms.delete(role);
    span.setAttribute("holdfast.end_reason", reason);
    if (!planned) failSpan(span, reason);
    span.end();
  }

  private attributesOf(role: Role, epoch: Epoch, reason: string) {
    return {
      "holdfast.role": role,
      "holdfast.epoch": Number(epoch),
      "holdfast.node_id": this.nodeId,
      "holdfast.reason": reason,
    };
  }

  gateBlocked(role: Role): void {
    this.metrics.gateBlocked.inc({ role });
  }

  fenceRejected(role: Role): void {
    this.metrics.fenceRejected.inc({ role });
    this.log.warn({ role, node_id: this.nodeId, reason: "stale_epoch" }, "the database refused a stale write");
  }

  workFailed(role: Role, epoch: Epoch, error: unknown): void {
    this.log.error(
      { role, epoch: Number(epoch), node_id: this.nodeId, err: error, reason: "work_failed" },
      "the work of the leader failed",
    );
  }

  evidenceRefused(role: Role, reason: string): void {
    this.log.info(
      { role, node_id: this.nodeId, reason },
      "the leader's lock came without evidence of a crash; waiting for its lease",
    );
  }

  acquireReplied(role: Role, reply: AcquireReply, durationMs: number): void {
    this.metrics.elections.inc({ role });
    this.metrics.acquireSeconds.observe({ role }, durationMs / 1000);
    const about = { "holdfast.role": role, "holdfast.node_id": this.nodeId, "holdfast.outcome": reply.kind };
    spanAfterwards(spanNames.acquire, durationMs, about);
    if (reply.kind === "quarantined") {
      this.log.warn(
        { role, epoch: Number(reply.view.epoch), node_id: this.nodeId, reason: "database_changed" },
        "this is another database than the one that wrote the lease; nobody leads until old trust has run out",
      );
    } else if (reply.kind === "blocked") {
      this.log.warn(
        { role, node_id: this.nodeId, reason: "blocked" },
        "something holds the fence or the lease row; trying again",
      );
    }
  }

  beaten(durationMs: number): void {
    this.metrics.observeBeat(durationMs);
    this.lastBeatAt = this.clock.mono() - durationMs;
    this.warned = "";
  }

  /** The same trouble is told once, until a beat succeeds. */
  trouble(what: string, error: unknown): void {
    const reason = errorText(error);
    const line = `${what}: ${reason}`;
    if (line === this.warned) return;
    this.warned = line;
    this.log.warn({ node_id: this.nodeId, reason }, what);
  }

  linkFailed(link: LinkName, error: unknown): void {
    this.trouble(`the ${link.kind} session is down`, error);
  }

  reaped(report: { readonly ended: number; readonly refused: number }): void {
    this.metrics.sessionsEnded.inc(report.ended);
    this.metrics.sessionsNotEnded.inc(report.refused);
    if (report.ended > 0)
      this.log.warn({ node_id: this.nodeId, ended: report.ended }, "ended the sessions of frozen nodes");
    if (report.refused > 0) {
      this.trouble("may not end the sessions of frozen nodes", `${report.refused} belong to another database role`);
    }
  }

  stepped(state: ElectorState): void {
    const now = readClock(this.clock);
    const sinceMs = this.lastStepAt === null ? 0 : now.mono - this.lastStepAt;
    this.lastStepAt = now.mono;
    for (const role of state.roles.values()) {
      const leaderless = role.view !== null && (role.view.holder === null || leaseRemainingMs(role, now) <= 0);
      if (leaderless) this.metrics.leaderless.inc({ role: role.role }, sinceMs / 1000);
    }
  }
}
