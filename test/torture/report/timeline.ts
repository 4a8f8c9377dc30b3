import type { Violation } from "../checker.js";
import { type Gap, gapsOf, lengthOf } from "../checkers/leaderless.js";
import { faultPeriodsOf, type Period, placesOf } from "../checkers/periods.js";
import type { HistoryEvent } from "../history.js";
import { leadershipsOf, presencesOf } from "./leaderships.js";
import { text } from "./markup.js";

const labelWidth = 160;
const pixelsASecond = 12;
const leastWidth = 1_000;
const barHeight = 12;
const stripHeight = 4;
const rowGap = 12;
/** More lines than this would cover the picture; the list below it has the rest. */
const mostLines = 200;

/** What is drawn, in the order of its rows: a row a place with a bar a role, the gaps, the faults. */
interface Canvas {
  readonly begin: number;
  readonly end: number;
  readonly width: number;
  readonly parts: string[];
  y: number;
}

/** The run as one picture: who led what and where, which faults came when, where nobody led, and where a promise was broken. */
export function timeline(history: readonly HistoryEvent[], violations: readonly Violation[]): string {
  const begin = beginOf(history);
  const end = history.reduce((last, { at }) => Math.max(last, at), begin + 1);
  const width = Math.max(leastWidth, ((end - begin) / 1_000) * pixelsASecond);
  const canvas: Canvas = { begin, end, width, parts: [], y: 24 };
  const roles = rolesOf(history);
  drawPlaces(canvas, history, roles);
  drawGaps(canvas, gapsOf(history), roles);
  drawFaults(canvas, history);
  drawScale(canvas);
  for (const violation of violations.slice(0, mostLines)) drawViolation(canvas, violation);
  const [fullWidth, height] = [labelWidth + width + 10, canvas.y + 6];
  const label = `Timeline of ${((end - begin) / 1_000).toFixed(0)} seconds`;
  return `<svg role="img" aria-label="${label}" width="${fullWidth.toFixed(0)}" height="${height}" viewBox="0 0 ${fullWidth.toFixed(0)} ${height}">\n${canvas.parts.join("\n")}\n</svg>`;
}

/** A long history has more events than a call has arguments, so they are gone through. */
export function beginOf(history: readonly HistoryEvent[]): number {
  return history.reduce((first, { at }) => Math.min(first, at), history[0]?.at ?? 0);
}

export function rolesOf(history: readonly HistoryEvent[]): readonly string[] {
  const roles = history.flatMap((event) => (event.kind === "elected" || event.kind === "gate" ? [event.role] : []));
  return [...new Set(roles)].toSorted();
}

/**
 * Each process has its ground in the row of its place; each role has its height there, so that a change of leaders is a step. Below is a
 * strip while a fault has to do with the place.
 */
function drawPlaces(canvas: Canvas, history: readonly HistoryEvent[], roles: readonly string[]): void {
  const presences = presencesOf(history, canvas.end);
  const leaderships = leadershipsOf(history, canvas.end);
  const places = [...new Set([...presences, ...leaderships].map(({ place }) => place))].toSorted();
  for (const place of places) {
    const height = Math.max(1, roles.length) * barHeight;
    drawLabel(canvas, place, height);
    for (const one of presences.filter((presence) => presence.place === place)) {
      drawBar(canvas, one, { top: 0, height, style: "there", title: one.process });
    }
    for (const one of leaderships.filter((leadership) => leadership.place === place)) {
      const index = roles.indexOf(one.role);
      const title = `${one.by} led ${one.role} under epoch ${one.epoch}, ${lengthOf(one).toFixed(0)} ms`;
      drawBar(canvas, one, { top: index * barHeight, height: barHeight - 1, style: `role${index % 8}`, title });
    }
    for (const one of faultPeriodsOf(history).filter(({ on }) => placesOf(on).includes(place))) {
      drawBar(canvas, one, { top: height, height: stripHeight, style: "fault", title: `${one.fault} on ${one.on}` });
    }
    canvas.y += height + rowGap;
  }
}

function drawGaps(canvas: Canvas, gaps: readonly Gap[], roles: readonly string[]): void {
  const height = Math.max(1, roles.length) * barHeight;
  drawLabel(canvas, "no leader", height);
  for (const gap of gaps) {
    const title = `${gap.role}: nobody for ${lengthOf(gap).toFixed(0)} ms`;
    const top = roles.indexOf(gap.role) * barHeight;
    drawBar(canvas, gap, { top, height: barHeight - 1, style: "gap", title });
  }
  canvas.y += height + rowGap;
}

/** A row a kind, as far as it happened. */
function drawFaults(canvas: Canvas, history: readonly HistoryEvent[]): void {
  const faults = faultPeriodsOf(history);
  for (const kind of new Set(faults.map(({ fault }) => fault))) {
    drawLabel(canvas, kind.replaceAll("_", " "), barHeight);
    for (const one of faults.filter(({ fault }) => fault === kind)) {
      const title = `${kind} on ${one.on}, ${Number.isFinite(one.to) ? `${lengthOf(one).toFixed(0)} ms` : "to the end"}`;
      drawBar(canvas, one, { top: 0, height: barHeight - 1, style: "fault", title });
    }
    canvas.y += barHeight + 3;
  }
}

function drawScale(canvas: Canvas): void {
  const seconds = (canvas.end - canvas.begin) / 1_000;
  const step = seconds > 300 ? 30 : seconds > 60 ? 10 : 5;
  for (let second = 0; second <= seconds; second += step) {
    const x = xOf(canvas, canvas.begin + second * 1_000);
    canvas.parts.unshift(`<line class="grid" x1="${x}" x2="${x}" y1="16" y2="${canvas.y}"/>`);
    canvas.parts.push(`<text class="scale" x="${x}" y="11">${second} s</text>`);
  }
}

function drawViolation(canvas: Canvas, { checker, text: told, at }: Violation): void {
  const x = xOf(canvas, Math.min(Math.max(at, canvas.begin), canvas.end));
  const title = `<title>${text(`${checker}: ${told}`)}</title>`;
  canvas.parts.push(`<line class="violation" x1="${x}" x2="${x}" y1="14" y2="${canvas.y}">${title}</line>`);
}

function drawLabel(canvas: Canvas, name: string, height: number): void {
  canvas.parts.push(`<text class="label" x="${labelWidth - 8}" y="${canvas.y + height / 2 + 4}">${text(name)}</text>`);
}

interface Bar {
  readonly top: number;
  readonly height: number;
  readonly style: string;
  readonly title: string;
}

/** At least so wide that a point in time can be seen. */
function drawBar(canvas: Canvas, { from, to }: Period, { top, height, style, title }: Bar): void {
  const left = Number(xOf(canvas, Math.max(from, canvas.begin)));
  const right = Number(xOf(canvas, Math.min(to, canvas.end)));
  const box = `x="${left}" y="${canvas.y + top}" width="${Math.max(1.5, right - left).toFixed(1)}" height="${height}"`;
  canvas.parts.push(`<rect class="${style}" ${box}><title>${text(title)}</title></rect>`);
}

function xOf({ begin, end, width }: Canvas, at: number): string {
  return (labelWidth + ((at - begin) / (end - begin)) * width).toFixed(1);
}
