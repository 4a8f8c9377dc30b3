import type { Sighting } from "../../election/core/lease.js";
import type { AcquireRequest } from "../../election/core/lease-rules.js";
import type { AcquireReply, WaitReply } from "../../election/core/messages.js";
import type { Epoch, Role } from "../../election/core/names.js";
import type { CampaignSession } from "../contract.js";
import { type AcquireJson, readAcquire, readWait, type WaitJson, writeNotice, writeSighting } from "./replies.js";
import type { ElectionClient } from "./session.js";
import { sqlState, sqlStateOf, toHoldfastError } from "./sql-errors.js";

/** Whatever stands in the way of an acquire for this share of its time is ended, once the lease has run out (R7). */
const patience = 0.25;
/** How long a notice may hold up the end of the session that sends it. */
const announceMs = 500;

export class PostgresCampaignSession implements CampaignSession {
  readonly ref;
  readonly path;
  private readonly client: ElectionClient;
  private readonly schema: string;
  private readonly role: Role;
  private readonly endBlockers: (pid: number) => Promise<void>;
  private announced: Promise<unknown> | null = null;

  constructor(client: ElectionClient, schema: string, role: Role, endBlockers: (pid: number) => Promise<void>) {
    this.ref = client.ref;
    this.path = client.path;
    this.client = client;
    this.schema = schema;
    this.role = role;
    this.endBlockers = endBlockers;
  }

  /**
   * Has the session plan what an acquire runs, before a crash waits for it: an acquire of a role that no row can have
   * changes nothing. The first one takes 2 ms longer than the second.
   */
  async warmUp(): Promise<void> {
    try {
      await this.client.query(`select ${this.schema}.acquire($1, $2, $3) as reply`, ["", "{}", null]);
      this.client.ready();
    } catch (error) {
      this.client.close();
      throw toHoldfastError(error, "preparing an acquire");
    }
  }

  async wait(prior: Sighting | null, sliceMs: number): Promise<WaitReply> {
    try {
      const rows = await this.client.query<{ reply: WaitJson }>(
        `select ${this.schema}.wait_for_lock($1, $2, $3) as reply`,
        [this.role, prior === null ? null : JSON.stringify(writeSighting(prior)), Math.ceil(sliceMs)],
      );
      return readWait((rows[0] as { reply: WaitJson }).reply);
    } catch (error) {
      throw toHoldfastError(error, "waiting for a role's lock");
    }
  }

  async acquire(request: AcquireRequest, timeoutMs: number): Promise<AcquireReply> {
    const blocked = setTimeout(() => {
      this.endBlockers(this.client.pid).catch(() => {
        // The acquire itself reports what stands in its way, by timing out.
      });
    }, timeoutMs * patience);
    try {
      const rows = await this.client.query<{ reply: AcquireJson }>(
        `select ${this.schema}.acquire($1, $2, $3) as reply`,
        [
          this.role,
          JSON.stringify(writeRequest(request, timeoutMs)),
          request.evidence === null
            ? null
            : JSON.stringify({
                ...writeSighting(request.evidence.sighting),
                grace_served_ms: request.evidence.graceServedMs,
              }),
        ],
      );
      const reply = readAcquire((rows[0] as { reply: AcquireJson }).reply);
      if (reply.kind === "acquired") this.announce(reply.epoch);
      return reply;
    } catch (error) {
      if (sqlStateOf(error) === sqlState.lockNotAvailable) return { kind: "blocked" };
      throw toHoldfastError(error, "acquiring a lease");
    } finally {
      clearTimeout(blocked);
    }
  }

  /** In a transaction of its own, and nobody waits for it: a notice only saves the others a beat (R9). */
  private announce(epoch: Epoch): void {
    const notice = writeNotice({ kind: "elected", epoch });
    const sent = this.client.query(`select ${this.schema}.announce($1, $2, false)`, [this.role, notice]);
    this.announced = sent.catch(() => {
      // A lost notice costs the standbys one beat.
    });
  }

  close(): void {
    const end = (): void => this.client.close();
    if (this.announced === null) {
      end();
      return;
    }
    const late = setTimeout(end, announceMs);
    this.announced.then(() => clearTimeout(late)).then(end, end);
  }
}

function writeRequest(request: AcquireRequest, timeoutMs: number): Record<string, unknown> {
  return {
    node_id: request.holder.nodeId,
    incarnation: request.holder.incarnation,
    url: request.holder.url,
    ttl_ms: Math.ceil(request.terms.ttlMs),
    on_stall: request.terms.onStall,
    takeover: request.terms.takeover,
    evidence_grace_ms: Math.ceil(request.terms.evidenceGraceMs),
    acquire_delay_ms: Math.ceil(request.acquireDelayMs),
    lock_session: request.sessions.lock,
    witness_session: request.sessions.witness,
    lock_timeout_ms: Math.ceil(timeoutMs * 0.8),
  };
}
