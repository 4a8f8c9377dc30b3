import type { FastifyRequest } from "fastify";
import Type, { type Static } from "typebox";
import { bodyOfText } from "../engine/body-text.js";
import { shownStatuses } from "../engine/message-status.js";
import { HoldfastError } from "../errors.js";
import { exactly, nullable, secondsOf, secondsOrNull, time } from "./fields.js";
import { momentOf } from "./job-answers.js";
import { limits } from "./limits.js";
import type { ServedNode } from "./served-node.js";

/** What messages of the engine look like from outside: all about them, and never what they say. */

type Book = ServedNode["engine"]["book"];
type Filter = Parameters<Book["search"]>[0];
type Row = Awaited<ReturnType<Book["search"]>>["items"][number];
type Account = NonNullable<Awaited<ReturnType<Book["message"]>>>;
type Step = Account["steps"][number];

const printable = "^[^\\x00-\\x1f\\x7f-\\x9f]{1,200}$";

export const messageId = Type.String({ minLength: 1, maxLength: 64, description: "A message's id" });
export const connectionName = Type.String({ pattern: printable, description: "A connection of the graph" });
const moment = Type.String({ maxLength: 40, description: "Seconds since 1970, or ISO 8601" });

/** In a query as in a body. */
export const filterFields = {
  since: Type.Optional({ ...moment, description: "Received at or after this: seconds since 1970, or ISO 8601" }),
  until: Type.Optional({ ...moment, description: "Received before this" }),
  connection: Type.Optional(connectionName),
  type: Type.Optional(Type.String({ pattern: printable, description: "ADT^A01, or all of a kind: ADT" })),
  control_id: Type.Optional(Type.String({ pattern: printable })),
  status: Type.Optional(Type.Enum([...shownStatuses])),
  text: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 500,
      description: "Whole words, all of them, in whatever order. Takes the permission messages:read",
    }),
  ),
};
const filterSchema = exactly(filterFields);

/** Whoever may ask which messages hold a word can read them word by word: that takes the right to read them. */
export function filterOf(
  { since, until, ...rest }: Static<typeof filterSchema>,
  caller: FastifyRequest["caller"],
): Filter {
  const { connection, type, control_id: controlId, status, text } = rest;
  if (text !== undefined && caller?.permissions.has("messages:read") !== true) {
    throw new HoldfastError(
      "FORBIDDEN",
      `To search by text the token "${caller?.name ?? ""}" lacks the permission messages:read.`,
    );
  }
  return {
    from: since === undefined ? undefined : momentOf("since", since).getTime(),
    until: until === undefined ? undefined : momentOf("until", until).getTime(),
    connection,
    type,
    controlId,
    status,
    text,
  };
}

/** A body as somebody gives it to us. */
export const givenBody = Type.String({ minLength: 1, maxLength: limits.maxBodyBytes });
export const bodyEncoding = Type.Enum(["text", "base64"], {
  description: "text, the default, is written in the charset that the message names; base64 is its bytes",
});

export const outboundName = /^[a-z0-9][a-z0-9_.-]{0,62}$/;
export const destination = Type.String({
  pattern: outboundName.source,
  description: "The one outbound that gets it; all, the default: every one that its handlers send to",
});

export const onlyTo = (to: string): string | undefined => (to === "all" ? undefined : to);

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

export function bytesOf(body: string, encoding: "text" | "base64" | undefined, charset: string | undefined): Buffer {
  if (encoding !== "base64") return bodyOfText(body, charset);
  if (base64.test(body)) return Buffer.from(body, "base64");
  throw wrongField("body", "is not base64, which encoding says");
}

export function wrongField(field: string, problem: string): HoldfastError {
  return new HoldfastError("INVALID_REQUEST", `${field} ${problem}.`, { details: { problems: [{ field, problem }] } });
}

const rowFields = {
  id: Type.String(),
  received_at: time,
  connection: Type.String(),
  type: Type.String({ description: "MSH-9 of HL7; else empty" }),
  control_id: Type.String({ description: "MSH-10 of HL7; else empty" }),
  size: Type.Integer({ minimum: 0, description: "Bytes of the body" }),
  replay_of: nullable(Type.String({ description: "The message that this one repeats" })),
  statuses: Type.Array(Type.String(), {
    description: "received and routed: it waits there; error: a dead letter; others: what it has been through",
  }),
};

const placeFields = { stage: Type.String(), lane: Type.String(), position: Type.Integer({ minimum: 1 }) };
const stepPosition = Type.Integer({ minimum: 0, description: "0 where it went through without ever waiting there" });

export const messageSchema = exactly(rowFields);

export const accountSchema = exactly({
  ...rowFields,
  ack: nullable(Type.String({ description: "The code that its sender was answered with, such as AA" })),
  steps: Type.Array(
    exactly({
      step: Type.Integer({ minimum: 1 }),
      kind: Type.String(),
      at: time,
      ...placeFields,
      position: stepPosition,
      detail: Type.Unknown(),
      has_body: Type.Boolean({ description: "GET /messages/{id}/body?step= shows what was sent, while it is kept" }),
    }),
  ),
  pending: Type.Array(exactly(placeFields), { description: "Where it waits, or is being worked on" }),
  dead_letters: Type.Array(
    exactly({
      id: Type.String(),
      ...placeFields,
      reason: Type.String(),
      attempts: Type.Integer({ minimum: 0 }),
      died_at: time,
      redriven_at: nullable(time),
    }),
  ),
});

export type MessageAnswer = Static<typeof messageSchema>;
export type AccountAnswer = Static<typeof accountSchema>;

export function showMessage({ id, receivedAt, connection, type, controlId, size, replayOf, statuses }: Row) {
  return {
    id,
    received_at: secondsOf(receivedAt),
    connection,
    type,
    control_id: controlId,
    size,
    replay_of: replayOf,
    statuses: [...statuses],
  };
}

export function showAccount(account: Account): AccountAnswer {
  const { ack, steps, pending, deadLetters } = account;
  return {
    ...showMessage(account),
    ack: ack === null ? null : ackCode(ack.toString("latin1")),
    steps: steps.map(showStep),
    pending: pending.map(({ stage, lane, position }) => ({ stage, lane, position })),
    dead_letters: deadLetters.map(({ id, stage, lane, position, reason, attempts, diedAt, redrivenAt }) => ({
      id,
      stage,
      lane,
      position,
      reason,
      attempts,
      died_at: secondsOf(diedAt),
      redriven_at: secondsOrNull(redrivenAt),
    })),
  };
}

function showStep({ step, kind, at, stage, lane, position, detail }: Step): AccountAnswer["steps"][number] {
  const hasBody = kind === "sent";
  return { step, kind, at: secondsOf(at), stage, lane, position, detail: withoutWords(detail), has_body: hasBody };
}

/** What a partner answered may hold anything, a patient too: whoever may not read messages sees its code alone. */
function withoutWords(detail: Step["detail"]): unknown {
  if (typeof detail !== "object" || detail === null || Array.isArray(detail)) return detail;
  const { reply, ...rest } = detail as Readonly<Record<string, unknown>>;
  return typeof reply === "string" ? { ...rest, reply: ackCode(reply) } : detail;
}

/** MSA-1. An answer that is kept as one line has spaces in place of its line ends. */
function ackCode(answer: string): string | null {
  return /(?:^|[\r\n ])MSA.([A-Z]{2})(?![A-Za-z])/.exec(answer)?.[1] ?? null;
}
