import { renderHistory, renderLeaders, renderNodes } from "../cluster-tables.js";
import { formatElapsed } from "../elapsed.js";
import { oneLine, type Paint } from "../paint.js";
import { shorten } from "../table.js";
import type { ClusterPicture } from "./cluster-picture.js";

/** What the screen shows: the last picture, and whether it is still current. */
export interface WatchState {
  readonly picture: ClusterPicture;
  /** What is to be said about the connection; null while all is well. */
  readonly notice: string | null;
}

export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

/** Exactly as many lines as the terminal has, or fewer. The nodes go first, and the history fills what is left. */
export function renderScreen(
  { picture, notice }: WatchState,
  { columns: width, rows }: ScreenSize,
  { paint, now }: { readonly paint: Paint; readonly now: number },
): readonly string[] {
  const look = { paint, width };
  const head = [
    ...title(picture, width, paint, now),
    ...(notice === null ? [] : [paint("bad", shorten(notice, width))]),
  ];
  const leaders = ["", ...renderLeaders(picture.leaders, look)];
  const nodes = ["", ...renderNodes(picture.nodes, { ...look, now })];
  const foot = paint("dim", shorten("q quits", width));
  const room = Math.max(0, rows - 1 - head.length - leaders.length);
  const shownNodes = nodes.length <= room ? nodes : cutNodes(nodes, room, paint);
  const left = room - shownNodes.length;
  const history = left > 2 ? ["", ...renderHistory(picture.history.slice(0, left - 2), { ...look, now })] : [];
  return [...head, ...leaders, ...shownNodes, ...history, foot].slice(0, rows);
}

function title({ info, via }: ClusterPicture, width: number, paint: Paint, now: number): readonly string[] {
  const counts = [
    [info.active_nodes, "active"],
    [info.joining_nodes, "joining"],
    [info.draining_nodes, "draining"],
    [info.dead_nodes, "dead"],
  ] as const;
  const shown = counts.filter(([count, status]) => count > 0 || status === "active");
  const members = shown.map(([count, status]) => `${count} ${status}`).join(", ");
  const time = new Date(now * 1000).toTimeString().slice(0, 8);
  return [paint("strong", shorten(`${oneLine(info.name)}: ${members}  via ${via}  ${time}`, width))];
}

function cutNodes(lines: readonly string[], room: number, paint: Paint): readonly string[] {
  if (room < 3) return [];
  const shown = lines.slice(0, room - 1);
  return [...shown, paint("dim", `and ${lines.length - shown.length} more`)];
}

/** Nobody answers: the last picture stays, and is said to be old. */
export function awayNotice(reason: string, picture: ClusterPicture, now: number): string {
  return `${oneLine(reason)} What you see is ${formatElapsed((now - picture.at) * 1000)} old.`;
}

export function movedNotice(from: string, to: string): string {
  return `${from} does not answer; looking through ${to}.`;
}

const csi = "\u001b[";
/** A screen of its own, so that what was there before comes back; and no cursor on it. */
export const enterScreen = `${csi}?1049h${csi}?25l`;
export const leaveScreen = `${csi}?25h${csi}?1049l`;

/** Draws over what is there, without a flash. */
export function frameOf(lines: readonly string[]): string {
  return `${csi}H${lines.map((line) => `${line}${csi}K`).join("\r\n")}${csi}J`;
}
