import { setMaxListeners } from "node:events";
import { Signal } from "../../lifecycle/signal.js";
import { LeaseBook } from "../core/agent/lease-book.js";
import { Outbox } from "../core/agent/outbox.js";
import type { WorkSettings } from "./agent-settings.js";
import type { WorkLink } from "./work-link.js";

/** What an agent has done since it started. */
export interface AgentCounts {
  /** Tasks that it was handed. */
  leased: number;
  /** Results that a leader accepted. */
  accepted: number;
  /** Results that came too late: the job was another's by then. */
  stale: number;
  /** Results that no leader would take. */
  refused: number;
  /** Tasks that were taken away while they ran. */
  lost: number;
}

/** Below what a server takes in one request. */
const reportsInBatch = 256;
const bytesInBatch = 700_000;

/** What the loops of one agent share. */
export class AgentParts {
  readonly settings: WorkSettings;
  readonly link: WorkLink;
  readonly leases: LeaseBook;
  readonly outbox: Outbox;
  readonly counts: AgentCounts = { leased: 0, accepted: 0, stale: 0, refused: 0, lost: 0 };
  /** There may be room for more work. */
  readonly roomChanged: Signal;
  readonly outboxChanged: Signal;
  readonly leasesChanged: Signal;
  /** Nothing is asked any more. */
  readonly over = new AbortController();

  constructor(settings: WorkSettings, link: WorkLink) {
    const { clock, progressMs, maxWaitingResults } = settings;
    this.settings = settings;
    this.link = link;
    this.leases = new LeaseBook(progressMs);
    this.outbox = new Outbox({ reports: maxWaitingResults, reportsInBatch, bytesInBatch });
    this.roomChanged = new Signal(clock);
    this.outboxChanged = new Signal(clock);
    this.leasesChanged = new Signal(clock);
    setMaxListeners(0, this.over.signal); // Every request that is under way listens.
  }

  get isOver(): boolean {
    return this.over.signal.aborted;
  }

  end(): void {
    this.over.abort();
    this.link.close();
    for (const signal of [this.roomChanged, this.outboxChanged, this.leasesChanged]) signal.notify();
  }
}
