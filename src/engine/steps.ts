import { errorText, HoldfastError } from "../errors.js";
import { Journaled } from "../queue/handler-call.js";
import type { Message, Produced } from "../queue/message.js";
import { readProduced } from "../queue/produced.js";
import type { StepKind, StepLine } from "../store/journal.js";
import { boundedCall, isOverdue } from "./bounded-call.js";
import { connectionOf, handlerOf, outboundLane, routedLane, stages } from "./core/lane-names.js";
import type { OutboundDefinition } from "./definition.js";
import type { Graph } from "./graph.js";
import { NotYet, type ReferenceSets } from "./reference-sets.js";
import { carried, SeenMessage } from "./seen-message.js";
import type { Send } from "./send.js";
import type { SharedState } from "./shared-state.js";
import { withoutWordsOf } from "./without-words.js";

/** What routers and handlers are run with. Asked for at each message: a reload changes it between two of them. */
export interface StepParts {
  readonly graph: () => Graph;
  /** Where in the modules an error came from, like "adt.ts:12:5". */
  readonly placeOf: (error: unknown) => string | null;
  readonly maxBodyBytes: number;
  readonly state: SharedState;
  readonly references: Pick<ReferenceSets, "view">;
  readonly counted: (connection: string, kind: StepKind) => void;
  /** Whether an earlier leader may have gone down with this message. */
  readonly isDoubtful: (message: Message) => boolean;
  /** How long one of those may take. */
  readonly doubtfulMs: number;
}

/** Another attempt would end the same way: the message goes to the dead letters at once. */
export class Hopeless extends HoldfastError {
  readonly retry = false;

  constructor(message: string) {
    super("REFUSED", message);
    this.name = "Error"; // What people read is the reason alone.
  }
}

/** Asks the router of the message's inbound for the handlers that get it. */
export function route(message: Message, parts: StepParts): Journaled {
  const { inbounds, routers, handlers } = parts.graph();
  const inbound = inbounds.get(message.lane);
  if (inbound === undefined) throw new Hopeless(`connection "${message.lane}" left the configuration`);
  const seen = SeenMessage.of(message);
  if (seen.malformed !== null) throw new Hopeless(`malformed: ${seen.malformed}`);
  const router = routers.get(inbound.router);
  if (router === undefined) throw new Hopeless(`router "${inbound.router}" left the configuration`);
  const routed = run(`router "${router.name}"`, message, parts, () => router.route(seen));
  const chosen = [...new Set(names(routed, `router "${router.name}"`))];
  const unknown = chosen.find((name) => !router.handlers.includes(name));
  if (unknown !== undefined) {
    throw new Hopeless(`router "${router.name}" chose "${unknown}", which is not among its handlers`);
  }
  // What is replayed to one destination only goes through the handlers that know it.
  const only = message.headers[carried.only];
  const going = only === undefined ? chosen : chosen.filter((name) => handlers.get(name)?.outbounds.includes(only));
  const produced = going.map((handler): Produced => {
    const { body, headers } = message;
    return { stage: stages.routed, lane: routedLane(inbound.name, handler), body, headers };
  });
  if (produced.length > 0) return new Journaled(produced, { steps: [], state: [] });
  parts.counted(inbound.name, "unrouted");
  return new Journaled([], { steps: [stepOf(message, "unrouted", null)], state: [] });
}

/** Runs one handler: what it sends, and what it keeps, is committed with the end of its message. */
export function handle(message: Message, parts: StepParts): Journaled {
  const { state, references } = parts;
  const { handlers, outbounds } = parts.graph();
  const name = handlerOf(message.lane);
  const handler = handlers.get(name);
  if (handler === undefined) throw new Hopeless(`handler "${name}" left the configuration`);
  const seen = SeenMessage.of(message);
  const draft = state.draft(handler.state ?? []);
  const sends = run(`handler "${name}"`, message, parts, () =>
    handler.handle(seen, {
      state: (namespace) => draft.namespace(namespace),
      reference: (reference) => references.view(reference, handler.references ?? []),
    }),
  );
  const only = message.headers[carried.only];
  const wanted = sendsOf(sends, `handler "${name}"`).filter((send) => only === undefined || send.outbound === only);
  const produced = wanted.map((send): Produced => {
    const outbound = outbounds.get(send.outbound);
    if (outbound === undefined || !handler.outbounds.includes(send.outbound)) {
      throw new Hopeless(`handler "${name}" sends to "${send.outbound}", which is not among its outbounds`);
    }
    if (send.body.byteLength > parts.maxBodyBytes) {
      throw new Hopeless(
        `handler "${name}" sends ${send.body.byteLength} bytes, and ${parts.maxBodyBytes} are the most`,
      );
    }
    return run(`outbound "${outbound.name}"`, message, parts, () => outgoing(seen, send, outbound));
  });
  // Of a message whose sends are refused nothing may be remembered, and from `commit` on it is.
  if (draft.isChanged) checkStorable(produced, parts);
  const kind = produced.length === 0 ? "filtered" : "processed";
  parts.counted(seen.connection, kind);
  const sent = produced.map(({ lane }) => connectionOf(lane));
  return new Journaled(produced, { steps: [stepOf(message, kind, { to: sent })], state: draft.commit() });
}

/**
 * What modules do is a function of the message alone: where it throws, it would throw again. All but what is not there yet, and
 * will be. One that never ends takes its whole process with it, once: the next leader gives it a bound.
 */
function run<Result>(who: string, message: Message, parts: StepParts, work: () => Result): Result {
  const { placeOf, isDoubtful, doubtfulMs } = parts;
  try {
    return isDoubtful(message) ? boundedCall(work, doubtfulMs) : work();
  } catch (error) {
    if (error instanceof NotYet || error instanceof Hopeless) throw error;
    if (isOverdue(error)) throw overdue(who, message, doubtfulMs);
    const place = placeOf(error);
    const reason = errorText(error);
    throw new Hopeless(`${who} failed${place === null ? "" : ` at ${place}`}: ${withoutWordsOf(message.body, reason)}`);
  }
}

/** A process that was held up itself may say so of an innocent message: it has a second chance. */
function overdue(who: string, { attempt }: Message, afterMs: number): Error {
  const reason = `${who} does not end: it was stopped after ${Math.round(afterMs)} ms, and a leader went down before`;
  return attempt > 1 ? new Hopeless(`${reason}; look for a loop, and redrive the message`) : new NotYet(reason);
}

/** How many lanes the keys of an outbound share. */
function lanesOf({ lane, lanes }: OutboundDefinition): number {
  return lane === undefined ? (lanes ?? 1) : (lanes ?? usualLanes);
}

const usualLanes = 8;

function outgoing(seen: SeenMessage, { body, key }: Send, outbound: OutboundDefinition): Produced {
  const bytes = Buffer.from(body);
  const sent = seen.with(bytes);
  const own = key ?? outbound.lane?.(sent) ?? null;
  return {
    stage: stages.outbound,
    lane: outboundLane(outbound.name, own, lanesOf(outbound)),
    body: bytes,
    headers: { ...sent.headers, [carried.connection]: seen.connection },
  };
}

export function stepOf(message: Message, kind: StepKind, detail: StepLine["detail"]): StepLine {
  const { stage, lane, position, headers } = message;
  return { id: Number(headers[carried.id] ?? 0), kind, stage, lane, position, detail };
}

function names(value: unknown, who: string): readonly string[] {
  const chosen = listOf(value, who);
  if (chosen.every((name) => typeof name === "string")) return chosen;
  throw new Hopeless(`${who} must return an array of names`);
}

function sendsOf(value: unknown, who: string): readonly Send[] {
  const sends = listOf<Partial<Send> | null | undefined>(value, who);
  const bad = sends.findIndex((one) => typeof one?.outbound !== "string" || !(one.body instanceof Uint8Array));
  if (bad === -1) return sends as readonly Send[];
  const which = bad === 0 ? "the first" : `number ${bad + 1}`;
  throw new Hopeless(`${who} must return sends, each made by send(), and ${which} is no such thing`);
}

function checkStorable(produced: readonly Produced[], { maxBodyBytes }: StepParts): void {
  const read = readProduced(produced, { stages: Object.values(stages), maxBodyBytes });
  if (read.kind === "garbage") throw new Hopeless(read.reason);
}

function listOf<Item>(value: unknown, who: string): readonly Item[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value as readonly Item[];
  if (value instanceof Promise) throw new Hopeless(`${who} is asynchronous: it must return its result at once`);
  throw new Hopeless(`${who} must return an array`);
}
