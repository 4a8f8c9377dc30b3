import type { Gap, Span, Term } from "./spans.js";

/** What a timeline shows: milliseconds of the epoch. */
export interface Frame {
  readonly from: number;
  readonly to: number;
}

/** Shares of the width. */
export interface Placed {
  readonly left: number;
  readonly width: number;
}

/** Where a stretch lies in the frame; undefined where it does not. */
export function placeIn(frame: Frame, { from, to }: Frame): Placed | undefined {
  if (to < frame.from || from > frame.to || frame.to <= frame.from) return undefined;
  const left = share(frame, Math.max(from, frame.from));
  return { left, width: share(frame, Math.min(to, frame.to)) - left };
}

function share({ from, to }: Frame, at: number): number {
  return (at - from) / (to - from);
}

export interface PlacedTerm extends Placed {
  readonly term: Term;
}

/** Terms too short for the eye at this zoom are left out: the marks of the gaps around them stand there. */
export function placeTerms(frame: Frame, spans: readonly Span[], widthPx: number): readonly PlacedTerm[] {
  return spans.flatMap((term) => {
    const placed = term.kind === "term" ? placeIn(frame, term) : undefined;
    if (term.kind !== "term" || placed === undefined || placed.width * widthPx < shortestPx) return [];
    return [{ term, ...placed }];
  });
}

const shortestPx = 0.75;

/** One mark of a row: a gap, or several that are too close together to be told apart at this zoom. */
export interface Mark extends Placed {
  /** Oldest first. */
  readonly gaps: readonly Gap[];
  readonly longest: Gap;
  /** Whether there is room for its length beside the marks that matter more. */
  readonly labelled: boolean;
}

interface Pixels {
  readonly widthPx: number;
  /** Marks nearer than this are one. */
  readonly closestPx: number;
  readonly labelPx: number;
}

export function placeGaps(frame: Frame, spans: readonly Span[], pixels: Pixels): readonly Mark[] {
  const closest = pixels.closestPx / Math.max(1, pixels.widthPx);
  const crowds: { readonly at: Placed; readonly gaps: Gap[] }[] = [];
  for (const gap of spans) {
    if (gap.kind !== "gap") continue;
    const at = placeIn(frame, gap);
    if (at === undefined) continue;
    const last = crowds.at(-1);
    // From the beginning of the mark, so that a crowd is a row of marks and not one that grows over all of them.
    if (last !== undefined && at.left - last.at.left < closest) last.gaps.push(gap);
    else crowds.push({ at, gaps: [gap] });
  }
  return labelled(
    crowds.map(({ gaps, at: { left } }) => ({
      gaps,
      longest: longestOf(gaps),
      left,
      width: endOf(frame, gaps) - left,
    })),
    pixels,
  );
}

function longestOf(gaps: readonly Gap[]): Gap {
  return gaps.reduce((longest, gap) => (gap.lengthMs > longest.lengthMs ? gap : longest));
}

function endOf(frame: Frame, gaps: readonly Gap[]): number {
  return share(frame, Math.min(frame.to, Math.max(...gaps.map(({ to }) => to))));
}

/** The longest gaps are labelled first, the others where they do not cover one. */
function labelled(marks: readonly Omit<Mark, "labelled">[], { widthPx, labelPx }: Pixels): readonly Mark[] {
  const taken: number[] = [];
  const chosen = new Set<Omit<Mark, "labelled">>();
  for (const mark of marks.toSorted((a, b) => b.longest.lengthMs - a.longest.lengthMs)) {
    const centre = (mark.left + mark.width / 2) * widthPx;
    if (taken.some((other) => Math.abs(other - centre) < labelPx)) continue;
    taken.push(centre);
    chosen.add(mark);
  }
  return marks.map((mark) => ({ ...mark, labelled: chosen.has(mark) }));
}

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const steps = [
  ...[1, 2, 5, 10, 15, 30].map((count) => count * second),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * minute),
  ...[1, 2, 3, 6, 12].map((count) => count * hour),
  ...[1, 2, 7, 14, 30, 90, 365].map((count) => count * day),
];

export interface Tick {
  readonly at: number;
  readonly left: number;
  readonly label: string;
}

/** Ticks at round local times, at least `apartPx` from each other. `offsetMs` is the zone's: local minus UTC. */
export function ticksOf(frame: Frame, widthPx: number, apartPx: number, offsetMs: number): readonly Tick[] {
  const length = frame.to - frame.from;
  if (length <= 0 || widthPx <= 0) return [];
  const finest = (length * apartPx) / widthPx;
  const step = steps.find((candidate) => candidate >= finest) ?? finest;
  const first = Math.ceil((frame.from + offsetMs) / step) * step - offsetMs;
  const ticks: Tick[] = [];
  for (let at = first; at <= frame.to; at += step)
    ticks.push({ at, left: share(frame, at), label: tickLabel(at + offsetMs, step) });
  return ticks;
}

function tickLabel(local: number, step: number): string {
  const text = new Date(local).toISOString();
  if (step >= day || (step >= hour && local % day === 0)) return text.slice(5, 10);
  return step >= minute ? text.slice(11, 16) : text.slice(11, 19);
}
