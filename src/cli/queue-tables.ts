import type { LaneAnswer, LetterAnswer } from "../server/queue-answers.js";
import type { TimedLook } from "./cluster-tables.js";
import { formatAgo, formatElapsed } from "./elapsed.js";
import type { Tone } from "./paint.js";
import { type Column, renderTable, type TableLook } from "./table.js";

const stateTones: Readonly<Record<string, Tone>> = {
  idle: "dim",
  ready: "good",
  in_flight: "good",
  waiting: "warning",
  paused: "warning",
  blocked: "bad",
};

export function renderLanes(lanes: readonly LaneAnswer[], look: TableLook): readonly string[] {
  const columns: readonly Column<LaneAnswer>[] = [
    { title: "queue", cell: (lane) => lane.queue },
    { title: "stage", cell: (lane) => lane.stage },
    { title: "lane", cell: (lane) => lane.lane, tone: () => "strong" },
    { title: "state", cell: (lane) => lane.state, tone: (lane) => stateTones[lane.state] ?? null, whole: true },
    { title: "depth", cell: (lane) => String(lane.depth), align: "right", whole: true },
    {
      title: "oldest",
      cell: (lane) => (lane.oldest_seconds === null ? "-" : formatElapsed(lane.oldest_seconds * 1000)),
      align: "right",
      whole: true,
    },
    { title: "failed", cell: (lane) => String(lane.attempts), align: "right", whole: true, spare: true },
    { title: "crashes", cell: (lane) => String(lane.reclaims), align: "right", whole: true, spare: true },
    { title: "last error", cell: (lane) => lane.last_error ?? "-", spare: true },
  ];
  return renderTable(columns, lanes, look);
}

export function renderLetters(letters: readonly LetterAnswer[], { now, ...look }: TimedLook): readonly string[] {
  const columns: readonly Column<LetterAnswer>[] = [
    { title: "id", cell: (letter) => letter.id, align: "right", whole: true },
    { title: "queue", cell: (letter) => letter.queue },
    { title: "stage", cell: (letter) => letter.stage, spare: true },
    { title: "lane", cell: (letter) => letter.lane, tone: () => "strong" },
    { title: "died", cell: (letter) => formatAgo(letter.died_at, now), whole: true },
    { title: "redriven", cell: (letter) => formatAgo(letter.redriven_at, now), tone: () => "dim", whole: true },
    { title: "failed", cell: (letter) => String(letter.attempts), align: "right", whole: true, spare: true },
    { title: "bytes", cell: (letter) => String(letter.size), align: "right", whole: true, spare: true },
    { title: "reason", cell: (letter) => letter.reason },
  ];
  return renderTable(columns, letters, look);
}
