import type { CronAnswer, TickAnswer } from "../server/cron-answers.js";
import type { TimedLook } from "./cluster-tables.js";
import { formatElapsed, formatMoment } from "./elapsed.js";
import type { Tone } from "./paint.js";
import { type Column, renderTable, type TableLook } from "./table.js";

type CronState = "active" | "paused" | "gone";

const stateTones: Readonly<Record<CronState, Tone>> = { active: "good", paused: "warning", gone: "dim" };
const kindTones: Readonly<Record<TickAnswer["kind"], Tone>> = {
  fired: "good",
  triggered: "good",
  coalesced: "warning",
  skipped: "warning",
};

export function renderCrons(crons: readonly CronAnswer[], { now, ...look }: TimedLook): readonly string[] {
  const columns: readonly Column<CronAnswer>[] = [
    { title: "cron", cell: (cron) => cron.name, tone: () => "strong" },
    { title: "state", cell: stateOf, tone: (cron) => stateTones[stateOf(cron)], whole: true },
    { title: "schedule", cell: (cron) => cron.schedule },
    { title: "time zone", cell: (cron) => cron.time_zone },
    { title: "op", cell: (cron) => cron.op },
    { title: "next", cell: (cron) => formatIn(cron.next_tick, now), whole: true },
    { title: "missed", cell: (cron) => cron.missed, whole: true, spare: true },
    { title: "from", cell: (cron) => cron.source, whole: true, spare: true },
  ];
  return renderTable(columns, crons, look);
}

export function renderTicks(ticks: readonly TickAnswer[], look: TableLook): readonly string[] {
  const columns: readonly Column<TickAnswer>[] = [
    { title: "tick", cell: (line) => formatMoment(line.tick), whole: true },
    { title: "became", cell: (line) => line.kind, tone: (line) => kindTones[line.kind], whole: true },
    { title: "job", cell: (line) => line.job_id ?? "-", whole: true },
    { title: "missed", cell: (line) => String(line.missed), align: "right", whole: true },
    { title: "late by", cell: latenessOf, align: "right", whole: true, spare: true },
  ];
  return renderTable(columns, ticks, look);
}

/** When a cron fires next, for whoever has just steered it. */
export function nextOf({ next_tick: next }: CronAnswer, now: number): string {
  return next === null ? "no tick is to come" : `its next tick is at ${formatMoment(next)} (${formatIn(next, now)})`;
}

function stateOf({ paused, gone_at: goneAt }: CronAnswer): CronState {
  if (goneAt !== null) return "gone";
  return paused ? "paused" : "active";
}

const latenessOf = ({ kind, tick, decided_at: at }: TickAnswer): string =>
  kind === "triggered" ? "-" : formatElapsed((at - tick) * 1000);

/** How long until a moment, both in seconds since 1970. One that has come is now: clocks differ a little. */
function formatIn(at: number | null, now: number): string {
  if (at === null) return "-";
  return at <= now ? "now" : `in ${formatElapsed((at - now) * 1000).replace(/\.\d ms$/, " ms")}`;
}
