import { isUtf8 } from "node:buffer";
import Type, { type Static } from "typebox";
import { laneStates, type SeenLane, type SeenStage } from "../queue/seen-lane.js";
import type { LetterBody, SeenLetter } from "../queue/seen-letter.js";
import { exactly, nullable, secondsOf, secondsOrNull, time } from "./fields.js";

/** What queues look like from outside. */

const partName = { pattern: "^[a-z0-9_-]{1,63}$" } as const;
export const queueName = Type.String({ ...partName, description: "A queue's name" });
export const stageName = Type.String({ ...partName, description: "A stage of a queue" });
/** Any printable character, "/" too, escaped as a URL wants it. */
export const laneName = Type.String({
  pattern: "^[^\\x00-\\x1f\\x7f-\\x9f]{1,200}$",
  description: "A lane's name: 1 to 200 printable characters",
});
export const laneState = Type.Enum([...laneStates]);

const place = { queue: Type.String(), role: Type.String(), stage: Type.String(), lane: Type.String() };

export const laneSchema = exactly({
  id: Type.String(),
  ...place,
  depth: Type.Integer({ minimum: 0, description: "Messages that are not finished" }),
  oldest_seconds: nullable(
    Type.Number({ description: "For how long the head has been there; null where it is empty" }),
  ),
  state: laneState,
  attempts: Type.Integer({ minimum: 0, description: "How often the head has failed" }),
  reclaims: Type.Integer({ minimum: 0, description: "In how many crashes in a row the head was in flight" }),
  wait_ms: Type.Number({ minimum: 0, description: "For how long the head still waits before it is tried again" }),
  paused: Type.Boolean(),
  blocked: Type.Boolean(),
  last_error: nullable(Type.String()),
});

export const stageSchema = exactly({
  queue: Type.String(),
  role: Type.String(),
  stage: Type.String(),
  lanes: Type.Integer({ minimum: 0 }),
  depth: Type.Integer({ minimum: 0, description: "Messages that are not finished, of all its lanes" }),
  oldest_seconds: nullable(Type.Number({ description: "For how long the oldest head has been there" })),
  paused: Type.Integer({ minimum: 0, description: "Lanes that are paused" }),
  blocked: Type.Integer({ minimum: 0, description: "Lanes that their head holds" }),
});

export const letterSchema = exactly({
  id: Type.String(),
  ...place,
  position: Type.Integer({ minimum: 1 }),
  key: nullable(Type.String()),
  size: Type.Integer({ minimum: 0, description: "Bytes of the body" }),
  reason: Type.String(),
  attempts: Type.Integer({ minimum: 0 }),
  reclaims: Type.Integer({ minimum: 0 }),
  died_at: time,
  redriven_at: nullable(time),
  redriven_to: nullable(Type.Integer({ description: "The position in its lane that it was given then" })),
});

export const letterBodySchema = exactly({
  id: Type.String(),
  headers: Type.Record(Type.String(), Type.String()),
  encoding: Type.Enum(["utf8", "base64"]),
  body: Type.String(),
});

export const redrivenSchema = exactly({
  id: Type.String({ description: "The dead letter's" }),
  queue: Type.String(),
  stage: Type.String(),
  lane: Type.String(),
  position: Type.Integer({ minimum: 1, description: "Where it is in its lane now" }),
});

export type LaneAnswer = Static<typeof laneSchema>;
export type StageAnswer = Static<typeof stageSchema>;
export type LetterAnswer = Static<typeof letterSchema>;
export type LetterBodyAnswer = Static<typeof letterBodySchema>;
export type RedrivenAnswer = Static<typeof redrivenSchema>;

export function showLane(lane: SeenLane): LaneAnswer {
  const { oldestMs, waitMs, lastError, ...rest } = lane;
  return { ...rest, oldest_seconds: secondsOrNull(oldestMs), wait_ms: waitMs, last_error: lastError };
}

export function showStage({ oldestMs, ...rest }: SeenStage): StageAnswer {
  return { ...rest, oldest_seconds: secondsOrNull(oldestMs) };
}

export function showLetter(letter: SeenLetter): LetterAnswer {
  const { diedAt, redrivenAt, redrivenTo, ...rest } = letter;
  return {
    ...rest,
    died_at: secondsOf(diedAt),
    redriven_at: secondsOrNull(redrivenAt),
    redriven_to: redrivenTo,
  };
}

/** As text where it is one. */
export function showBody(id: string, { headers, body }: LetterBody): LetterBodyAnswer {
  const encoding = isUtf8(body) ? "utf8" : "base64";
  return { id, headers: { ...headers }, encoding, body: body.toString(encoding) };
}
