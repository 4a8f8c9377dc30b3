import { HoldfastError } from "../../errors.js";
import type { FenceToken } from "../contract.js";
import type { JobReply } from "../job-contract.js";
import type { JobOrder, Result, Submission } from "../job-orders.js";
import type { MessageReply, TransactionMessage } from "./fenced-message.js";
import { areCopied, type CopiedJobs, copiedColumns, packJobs } from "./job-copy.js";
import { Demands, KnownDemands } from "./job-demands.js";
import { type ReplyJson, type ResultsJson, readAnswers, type TasksJson, type WholeReply } from "./job-rows.js";
import { applyStatement, reportStatement } from "./job-wire.js";
import { quoted, storable } from "./literal.js";
import type { FencedMessage } from "./queue-traffic.js";
import { sqlState, sqlStateOf } from "./sql-errors.js";

type Told = Exclude<JobOrder, Result>;

/** A lease that was lost would hand out its epoch twice (R2). */
export const durably = "set local synchronous_commit = on";

/** What comes before submissions, in the order of `apply_jobs`. */
const earlier: ReadonlySet<JobOrder["kind"]> = new Set(["renew", "give_back", "cancel", "redrive"]);

/** Orders of all kinds as one transaction in one message. */
export class JobTraffic {
  private readonly schema: string;
  private readonly send: FencedMessage;
  private readonly known = new KnownDemands();

  constructor(schema: string, send: FencedMessage) {
    this.schema = schema;
    this.send = send;
  }

  async apply(fence: FenceToken, orders: readonly JobOrder[]): Promise<JobReply> {
    const copying = written(() => this.copiedMessage(fence, orders));
    if (copying !== null) {
      try {
        return await this.sent(fence, orders, copying);
      } catch (error) {
        // Some are there already, as when the answer to the same message was lost: told in words, each is answered for itself.
        const state = sqlStateOf(error);
        if (state !== sqlState.uniqueViolation && state !== sqlState.foreignKeyViolation) throw error;
        this.known.forget();
      }
    }
    const demands = new Demands();
    return await this.sent(
      fence,
      orders,
      written(() => this.telling(fence, orders, demands)),
      demands,
    );
  }

  private telling(fence: FenceToken, orders: readonly JobOrder[], demands: Demands): TransactionMessage {
    const others = orders.filter((order): order is Told => order.kind !== "result");
    const statements = [
      ...this.reporting(fence, orders),
      applyStatement(this.schema, fence.epoch, others, { demands }),
      ...this.handingOver(orders),
    ];
    return { statements: [durably, ...statements] };
  }

  private copiedMessage(fence: FenceToken, orders: readonly JobOrder[]): TransactionMessage | null {
    const copying = this.copiedOf(fence, orders);
    if (copying === null) return null;
    const { demands, copied } = copying;
    const { schema } = this;
    const others = orders.filter((order): order is Told => order.kind !== "result" && order.kind !== "submit");
    const first = others.filter(({ kind }) => earlier.has(kind));
    const then = others.filter(({ kind }) => !earlier.has(kind));
    const statements = [
      ...this.reporting(fence, orders),
      ...(first.length === 0 ? [] : [applyStatement(schema, fence.epoch, first)]),
      `select ${schema}.number_jobs()`,
      `copy ${schema}.jobs (${copiedColumns}) from stdin (format binary)`,
      applyStatement(schema, fence.epoch, then, { demands, copied }),
      ...this.handingOver(orders),
    ];
    return { statements: [durably, ...statements], copyIn: copied.copyIn };
  }

  private reporting(fence: FenceToken, orders: readonly JobOrder[]): readonly string[] {
    const results = orders.filter((order): order is Result => order.kind === "result");
    return results.length === 0 ? [] : [reportStatement(this.schema, fence.epoch, results)];
  }

  private handingOver(orders: readonly JobOrder[]): readonly string[] {
    const ids = orders.flatMap((order) => (order.kind === "lease" ? [storable(order.leaseId)] : []));
    if (ids.length === 0) return [];
    return [`select * from ${this.schema}.leased_tasks(array[${ids.map(quoted).join()}])`];
  }

  /** Null where they are told in words: they may be there already, or what they ask for is not known. */
  private copiedOf(fence: FenceToken, orders: readonly JobOrder[]): Copying | null {
    const submissions = orders.filter((order): order is Submission => order.kind === "submit");
    if (!areCopied(submissions)) return null;
    const demands = new Demands();
    const places = submissions.map((submission) => demands.placeOf(submission));
    const ids = this.known.idsOf(demands);
    return ids === null ? null : { demands, copied: packJobs(submissions, places, ids, fence.epoch) };
  }

  private async sent(
    fence: FenceToken,
    orders: readonly JobOrder[],
    message: TransactionMessage,
    demands: Demands | null = null,
  ): Promise<JobReply> {
    const whole = wholeOf(await this.send(fence, message));
    const { demands: ids, next_due_ms: nextDueMs } = whole.reply;
    if (demands !== null && ids !== null) this.known.learn(demands, ids);
    return { answers: readAnswers(orders, whole), nextDueMs };
  }
}

/** What cannot be put into a message, as where it would be too long, is refused: the same again would fare no better. */
function written<Message>(write: () => Message): Message {
  try {
    return write();
  } catch (error) {
    throw new HoldfastError("DATABASE_REFUSED", "These orders cannot be written down.", { cause: error });
  }
}

interface Copying {
  readonly demands: Demands;
  readonly copied: CopiedJobs;
}

/** The answers of a message's statements, each known by its first column; of `apply_jobs` there may be two. */
function wholeOf({ results }: MessageReply): WholeReply {
  let reported: ResultsJson = null;
  let reply: ReplyJson | null = null;
  const tasks = new Map<string, TasksJson>();
  for (const { fields, rows } of results) {
    const name = fields[0]?.name;
    if (name === "results") ({ results: reported } = rows[0] as { results: ResultsJson });
    else if (name === "reply") reply = joined(reply, (rows[0] as { reply: ReplyJson }).reply);
    else if (name === "lease_id") for (const row of rows as TasksJson[]) tasks.set(row.lease_id, row);
  }
  return { results: reported, reply: reply as ReplyJson, tasks };
}

function joined(first: ReplyJson | null, then: ReplyJson): ReplyJson {
  if (first === null) return then;
  const { renewals, give_backs, cancels, redrives } = first;
  return { ...then, renewals, give_backs, cancels, redrives };
}
