import { formatElapsed } from "../elapsed.js";
import { oneLine, type Paint, type Tone } from "../paint.js";
import { type Column, renderTable, shorten } from "../table.js";
import { type Condition, type DemoNode, type DemoState, leaderOf, type Takeover } from "./demo-state.js";
import { keyHelp } from "./keys.js";

export interface ScreenLook {
  readonly columns: number;
  readonly rows: number;
  readonly paint: Paint;
  /** By performance.now(). */
  readonly now: number;
  /** Where the nodes write what they do, and where the address of the database is. */
  readonly logs: string;
}

/** The whole screen, at most as many lines as there are rows: the nodes first, takeovers as far as there is room. */
export function renderDemo(state: DemoState, look: ScreenLook): readonly string[] {
  const { columns: width, rows, paint } = look;
  const line = (tone: Tone | null, text: string): string => paint(tone, shorten(text, width));
  const head = [line("strong", "Holdfast demo: each address below is the dashboard"), leadership(state, look), ""];
  const nodes = [...renderTable(nodeColumns, state.nodes, { paint, width }), ""];
  const foot = [
    ...(state.notice === null ? [] : [line("warning", oneLine(state.notice))]),
    line(null, keyHelp),
    line("dim", `logs and the address of the database: ${look.logs}`),
  ];
  const room = rows - head.length - nodes.length - foot.length - 2;
  const takeovers = room < 1 ? [] : [...takeoverLines(state, look).slice(0, room + 1), ""];
  return [...head, ...nodes, ...takeovers, ...foot].slice(0, Math.max(1, rows));
}

function leadership(state: DemoState, { columns, paint, now }: ScreenLook): string {
  const leader = leaderOf(state);
  if (leader?.condition.kind === "leads") {
    return paint("good", shorten(`${leader.id} leads, epoch ${leader.condition.epoch}`, columns));
  }
  const { blow } = state;
  const since = blow === null ? "" : `: ${blow.nodeId} was ${past[blow.deed]} ${formatElapsed(now - blow.at)} ago`;
  return paint("bad", shorten(`nobody leads${since}`, columns));
}

const past: Readonly<Record<"killed" | "frozen" | "died", string>> = {
  killed: "killed",
  frozen: "frozen",
  died: "gone",
};

const nodeColumns: readonly Column<DemoNode>[] = [
  { title: "node", cell: ({ id }) => id, whole: true },
  { title: "status", cell: ({ condition }) => statusOf(condition), tone: ({ condition }) => toneOf(condition) },
  { title: "pid", cell: ({ pid }) => (pid === 0 ? "-" : String(pid)), align: "right", whole: true },
  { title: "address", cell: ({ url }) => url, whole: true },
];

function statusOf(condition: Condition): string {
  switch (condition.kind) {
    case "leads":
      return `leads, epoch ${condition.epoch}`;
    case "stands_by":
      return "stands by";
    case "silent":
      return "does not answer";
    case "dead":
      return `dead (${condition.how})`;
    default:
      return condition.kind;
  }
}

function toneOf({ kind }: Condition): Tone | null {
  if (kind === "leads") return "good";
  if (kind === "dead") return "bad";
  return kind === "stands_by" ? null : "warning";
}

function takeoverLines(state: DemoState, { columns, paint }: ScreenLook): readonly string[] {
  if (state.takeovers.length === 0) return [paint("dim", shorten("no takeover yet", columns))];
  return [
    paint("dim", shorten("takeovers, the latest first", columns)),
    ...state.takeovers.map((takeover) => shorten(describeTakeover(takeover), columns)),
  ];
}

/** "node-1 killed: node-2 leads after 13.1 ms, epoch 4 (the database: 8.0 ms without a leader)" */
export function describeTakeover({ from, deed, to, epoch, tookMs, databaseMs }: Takeover): string {
  // The same node again: nobody else was there, or it woke up first.
  const again = from === to;
  const before = deed !== null ? `${from} ${past[deed]}: ` : again ? "" : `${from} handed over: `;
  const after = tookMs === null ? "" : ` after ${formatElapsed(tookMs)}`;
  const account = databaseMs === null ? "" : ` (the database: ${formatElapsed(databaseMs)} without a leader)`;
  return `${before}${to} leads${again ? " again" : ""}${after}, epoch ${epoch}${account}`;
}
