import type { Gate } from "../election/gate.js";
import { HoldfastError } from "../errors.js";
import { Journaled } from "../queue/handler-call.js";
import type { HandlerContext, Message } from "../queue/message.js";
import type { StepKind } from "../store/journal.js";
import { connectionOf } from "./core/lane-names.js";
import type { OutboundDefinition } from "./definition.js";
import type { Graph } from "./graph.js";
import type { Outbounds } from "./outbounds.js";
import { carried } from "./seen-message.js";
import { Hopeless, stepOf } from "./steps.js";
import type { Delivery, DeliveryOutcome } from "./transports/transport.js";
import { withoutWordsOf } from "./without-words.js";

export interface DeliverParts {
  readonly graph: () => Graph;
  readonly outbounds: Outbounds;
  readonly gate: Pick<Gate, "ensureEpoch">;
  /** Stops the connection until somebody starts it: what was sent last may or may not have arrived. Resolves when that is stored. */
  readonly halt: (outbound: string, reason: string) => Promise<void>;
  /** Lanes whose last message may have arrived, where a person is to be asked before it goes out again. */
  readonly inDoubt: Set<string>;
  readonly counted: (connection: string, kind: StepKind) => void;
}

const longestReply = 500;

/** It is tried again; the other side may have said when. */
class Later extends HoldfastError {
  readonly retryAfterMs: number | undefined;

  constructor(message: string, retryAfterMs?: number) {
    super("REFUSED", message);
    this.name = "Error"; // What people read is the reason alone.
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * One message to the outside, once. The guard is asked right before each write, with the epoch of the claim itself: a leader
 * that was deposed, and does not know it yet, writes nothing that its successor does not know of.
 */
export async function deliver(message: Message, context: HandlerContext, parts: DeliverParts): Promise<Journaled> {
  const name = connectionOf(message.lane);
  const outbound = parts.graph().outbounds.get(name);
  if (outbound === undefined) throw new Hopeless(`connection "${name}" left the configuration`);
  const { outbounds, gate } = parts;
  const { lane, position } = message;
  if (outbounds.hasArrived(lane, position)) return done(message, { attempt: message.attempt, arrived: "before" });
  if (message.interrupted && outbound.unconfirmed === "stop" && outbounds.isNewQuestion(lane, position)) {
    const reason = "its leader went down while it was being sent";
    return await judge(message, { kind: "unconfirmed", reason }, outbound, parts);
  }
  const destination = outbounds.destinationOf(outbound, lane);
  const guard = {
    mayWrite: (): void => {
      gate.ensureEpoch(message.epoch);
      if (outbound.unconfirmed === "stop") parts.inDoubt.add(lane);
    },
  };
  const outcome = await outbounds.send(lane, position, async () => {
    return await destination.send(deliveryOf(message), guard, context.signal);
  });
  if (outcome.kind !== "unconfirmed") parts.inDoubt.delete(lane);
  return await judge(message, outcome, outbound, parts);
}

function deliveryOf(message: Message): Delivery {
  const { body, headers, attempt, epoch, lane, position } = message;
  const idempotencyKey = `${headers[carried.id] ?? ""}/${lane}/${position}`;
  return { body, headers, attempt, idempotencyKey, epoch };
}

async function judge(
  message: Message,
  outcome: DeliveryOutcome,
  outbound: OutboundDefinition,
  { halt, counted }: DeliverParts,
): Promise<Journaled> {
  switch (outcome.kind) {
    case "delivered":
      counted(outbound.name, "sent");
      return done(message, { attempt: message.attempt, reply: replyText(outcome.reply) });
    case "rejected": {
      const reason = `rejected: ${withoutWordsOf(message.body, outcome.reason)}`;
      throw outcome.retry ? new Later(reason, outcome.retryAfterMs) : new Hopeless(reason);
    }
    case "unreached":
      throw new Later(outcome.reason);
    case "unconfirmed": {
      const reason = `sent, but not confirmed: ${outcome.reason}`;
      if (outbound.unconfirmed === "skip") return done(message, { attempt: message.attempt, unconfirmed: reason });
      // First that, then the end of the attempt: a crash between the two would send it again unasked.
      if (outbound.unconfirmed === "stop") await halt(outbound.name, reason);
      throw new Later(reason);
    }
  }
}

function done(message: Message, detail: Readonly<Record<string, string | number | null>>): Journaled {
  return new Journaled([], { steps: [stepOf(message, "sent", detail)], state: [] });
}

/** What the other side said, as far as people can read it. Answers carry codes, not patients. */
function replyText(reply: Buffer | null): string | null {
  if (reply === null) return null;
  return reply
    .subarray(0, longestReply)
    .toString("latin1")
    .replace(/[^\x20-\x7e]+/g, " ")
    .trim();
}
