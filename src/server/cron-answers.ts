import Type, { type Static } from "typebox";
import type { SeenCron, SeenTick } from "../jobs/crons.js";
import { cronName as namePattern } from "../jobs/new-cron.js";
import { epoch, exactly, nullable, secondsOf, secondsOrNull, time } from "./fields.js";

/** What crons look like from outside. Never their payloads, as with jobs. */

export const cronName = Type.String({ pattern: namePattern.source, description: "A cron's name" });

export const cronSchema = exactly({
  name: Type.String(),
  schedule: Type.String(),
  time_zone: Type.String(),
  op: Type.String({ description: "What its jobs do" }),
  missed: Type.Enum(["skip", "coalesce", "catch_up"]),
  catch_up_max: nullable(Type.Integer({ description: "With catch_up: so many jobs at once at most" })),
  paused: Type.Boolean(),
  source: Type.Enum(["settings", "code"]),
  generation: Type.Integer({ description: "Raised by every change of it" }),
  last_tick: Type.Number({ description: "Every tick up to here has been decided on, or lies before its beginning" }),
  next_tick: nullable(Type.Number({ description: "Null where it is paused, is gone, or has no tick to come" })),
  gone_at: nullable(Type.Number({ description: "Since when the settings have not named it any more" })),
});

export type CronAnswer = Static<typeof cronSchema>;

export const tickSchema = exactly({
  id: Type.String(),
  tick: time,
  decided_at: time,
  kind: Type.Enum(["fired", "coalesced", "skipped", "triggered"]),
  missed: Type.Integer({ description: "How many ticks before this one got no job" }),
  job_id: nullable(Type.String({ description: "Its job; null where it was skipped" })),
});

export type TickAnswer = Static<typeof tickSchema>;

export const triggeredSchema = exactly({ name: Type.String(), job_id: Type.String(), leader_epoch: epoch });

export type TriggeredAnswer = Static<typeof triggeredSchema>;

export function showCron(cron: SeenCron): CronAnswer {
  const { policy } = cron;
  return {
    name: cron.name,
    schedule: cron.schedule,
    time_zone: cron.timeZone,
    op: cron.op,
    missed: policy.kind,
    catch_up_max: policy.kind === "catch_up" ? policy.max : null,
    paused: cron.paused,
    source: cron.source,
    generation: cron.generation,
    last_tick: secondsOf(cron.lastTick),
    next_tick: secondsOrNull(cron.nextTick),
    gone_at: secondsOrNull(cron.goneAt),
  };
}

export function showTick({ id, tick, decidedAt, kind, missed, jobId }: SeenTick): TickAnswer {
  return { id, tick: secondsOf(tick), decided_at: secondsOf(decidedAt), kind, missed, job_id: jobId };
}
