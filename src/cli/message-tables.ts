import type { AccountAnswer, MessageAnswer } from "../server/message-answers.js";
import type { TimedLook } from "./cluster-tables.js";
import { formatAgo, formatMoment } from "./elapsed.js";
import { oneLine, type Paint, type Tone } from "./paint.js";
import { pairs } from "./print.js";
import { type Column, renderTable, type TableLook } from "./table.js";

export function renderMessages(messages: readonly MessageAnswer[], { now, ...look }: TimedLook): readonly string[] {
  const columns: readonly Column<MessageAnswer>[] = [
    { title: "id", cell: (message) => message.id, align: "right", tone: () => "strong", whole: true },
    { title: "received", cell: (message) => formatAgo(message.received_at, now), whole: true },
    { title: "connection", cell: (message) => message.connection },
    { title: "type", cell: (message) => message.type || "-" },
    { title: "control id", cell: (message) => message.control_id || "-" },
    { title: "status", cell: (message) => message.statuses.join(", "), tone: (message) => toneOf(message.statuses) },
    { title: "bytes", cell: (message) => String(message.size), align: "right", whole: true, spare: true },
    { title: "replay of", cell: (message) => message.replay_of ?? "-", align: "right", whole: true, spare: true },
  ];
  return renderTable(columns, messages, look);
}

function toneOf(statuses: readonly string[]): Tone | null {
  if (statuses.includes("error")) return "bad";
  if (statuses.includes("received") || statuses.includes("routed")) return "warning";
  return statuses.includes("sent") ? "good" : "dim";
}

type Step = AccountAnswer["steps"][number];
type Letter = AccountAnswer["dead_letters"][number];

/** A message, and what became of it. */
export function renderAccount(account: AccountAnswer, { paint = plainly, ...look }: TableLook): readonly string[] {
  const { steps, pending, dead_letters: letters } = account;
  const head: readonly (readonly [string, string])[] = [
    ["message", account.id],
    ["received", formatMoment(account.received_at)],
    ["connection", account.connection],
    ["type", account.type || "-"],
    ["control id", oneLine(account.control_id) || "-"],
    ["bytes", String(account.size)],
    ["answered", account.ack ?? "-"],
    ["replay of", account.replay_of ?? "-"],
    ["status", paint(toneOf(account.statuses), account.statuses.join(", "))],
    ...pending.map(({ stage, lane, position }): [string, string] => [
      "waits in",
      oneLine(`${stage} ${lane}, as number ${position}`),
    ]),
  ];
  return [
    ...pairs(head, paint),
    ...(steps.length === 0 ? [] : ["", ...renderTable(stepColumns, steps, { paint, ...look })]),
    ...(letters.length === 0 ? [] : ["", ...renderTable(letterColumns, letters, { paint, ...look })]),
  ];
}

const plainly: Paint = (_tone, text) => text;

const stepColumns: readonly Column<Step>[] = [
  { title: "step", cell: (step) => String(step.step), align: "right", whole: true },
  { title: "at", cell: (step) => formatMoment(step.at), whole: true },
  { title: "what", cell: (step) => step.kind, tone: (step) => toneOf([step.kind]), whole: true },
  { title: "lane", cell: (step) => step.lane },
  { title: "detail", cell: (step) => (step.detail === null ? "-" : JSON.stringify(step.detail)), spare: true },
];

const letterColumns: readonly Column<Letter>[] = [
  { title: "dead letter", cell: (letter) => letter.id, align: "right", whole: true },
  { title: "died", cell: (letter) => formatMoment(letter.died_at), whole: true },
  { title: "redriven", cell: (letter) => formatMoment(letter.redriven_at), tone: () => "dim", whole: true },
  { title: "lane", cell: (letter) => `${letter.stage} ${letter.lane}` },
  { title: "reason", cell: (letter) => letter.reason, tone: () => "bad" },
];
