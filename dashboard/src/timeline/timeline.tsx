import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { NodeName, useHues } from "../parts/node-name.js";
import { useWidth } from "../parts/width.js";
import { formatDuration, formatGap, formatTime, formatUtc } from "../time/format.js";
import { type Frame, type Mark, placeGaps, placeTerms, ticksOf } from "./geometry.js";
import { reasonInWords } from "./reasons.js";
import type { Gap, RoleRow, Term } from "./spans.js";

const closestPx = 5;
const labelPx = 96;
const apartPx = 84;

interface Pointed {
  readonly role: string;
  readonly gaps: readonly Gap[];
}

interface TimelineProps {
  readonly rows: readonly RoleRow[];
  readonly frame: Frame;
  /** Said under the drawing while nothing is pointed at. */
  readonly summary: ComponentChildren;
}

/** One row a role: who led from when to when, and each gap between. Gaps can be pointed at, or reached by the keyboard. */
export function Timeline({ rows, frame, summary }: TimelineProps) {
  const axis = useRef<HTMLDivElement>(null);
  const widthPx = useWidth(axis);
  const [pointed, setPointed] = useState<Pointed>();
  const offsetMs = -new Date(frame.to).getTimezoneOffset() * 60_000;
  const ticks = ticksOf(frame, widthPx, apartPx, offsetMs);
  return (
    <div class="timeline">
      {rows.map((row) => (
        <div class="timeline-row" key={row.role}>
          <div class="timeline-role" title={row.role}>
            {row.role}
          </div>
          <Track row={row} frame={frame} widthPx={widthPx} onPoint={setPointed}>
            {ticks.map(({ at, left }) => (
              <i key={at} class="timeline-grid" style={{ left: percent(left) }} />
            ))}
          </Track>
        </div>
      ))}
      <div class="timeline-row timeline-axis" aria-hidden="true">
        <div class="timeline-role" />
        <div class="timeline-ticks" ref={axis}>
          {ticks
            .filter(({ left }) => left * widthPx > 18 && (1 - left) * widthPx > 18)
            .map(({ at, left, label }) => (
              <span key={at} class="num" style={{ left: percent(left) }}>
                {label}
              </span>
            ))}
        </div>
      </div>
      <div class="timeline-said">{pointed === undefined ? summary : <Said pointed={pointed} now={frame.to} />}</div>
    </div>
  );
}

interface TrackProps {
  readonly row: RoleRow;
  readonly frame: Frame;
  readonly widthPx: number;
  readonly onPoint: (pointed: Pointed | undefined) => void;
  readonly children: ComponentChildren;
}

function Track({ row, frame, widthPx, onPoint, children }: TrackProps) {
  const marks = placeGaps(frame, row.spans, { widthPx, closestPx, labelPx });
  return (
    <section class="timeline-track" aria-label={`Who led ${row.role}`}>
      {children}
      {placeTerms(frame, row.spans, widthPx).map(({ term, left, width }) => (
        <TermBar key={`${term.epoch}-${term.from}`} term={term} left={left} width={width} roomPx={width * widthPx} />
      ))}
      {marks.map((mark) => (
        <GapMark
          key={mark.gaps[0]?.from}
          role={row.role}
          mark={mark}
          now={frame.to}
          widthPx={widthPx}
          onPoint={onPoint}
        />
      ))}
    </section>
  );
}

interface TermBarProps {
  readonly term: Term;
  readonly left: number;
  readonly width: number;
  readonly roomPx: number;
}

function TermBar({ term, left, width, roomPx }: TermBarProps) {
  const hue = useHues()(term.node);
  const known = Number.isFinite(term.from);
  const long = known ? `for ${formatDuration(term.to - term.from)}` : "";
  const title = `${term.node}, epoch ${term.epoch}, ${long}${term.open ? " and still leads" : ""}`;
  return (
    <div
      class={`timeline-term hue-${hue} ${term.open ? "timeline-open" : ""}`}
      style={{ left: percent(left), width: percent(width) }}
      title={title}
    >
      {roomPx > 62 ? (
        <>
          <b>{term.node}</b>
          {roomPx > 170 ? <span class="num">{term.open ? `epoch ${term.epoch}` : long}</span> : null}
        </>
      ) : null}
    </div>
  );
}

interface GapMarkProps {
  readonly role: string;
  readonly mark: Mark;
  readonly widthPx: number;
  readonly now: number;
  readonly onPoint: (pointed: Pointed | undefined) => void;
}

function GapMark({ role, mark, now, widthPx, onPoint }: GapMarkProps) {
  const { longest, gaps, left, width } = mark;
  const point = (): void => onPoint({ role, gaps });
  const leave = (): void => onPoint(undefined);
  const edge =
    left * widthPx < labelPx / 2 ? "mark-first" : (1 - left - width) * widthPx < labelPx / 2 ? "mark-last" : "";
  return (
    <button
      type="button"
      class={`timeline-gap ${longest.open ? "timeline-open" : ""} ${edge}`}
      style={{ left: percent(left), width: percent(width) }}
      onMouseEnter={point}
      onMouseLeave={leave}
      onFocus={point}
      onBlur={leave}
      onClick={point}
    >
      <span class="visually-hidden">
        {role}: {sentencesOf(gaps, now)}
      </span>
      {mark.labelled ? (
        <span class="gap-label num" aria-hidden="true">
          {formatGap(longest.lengthMs)}
          {gaps.length > 1 ? <em> +{gaps.length - 1}</em> : null}
        </span>
      ) : null}
    </button>
  );
}

/** At most this many of a crowded mark are told one by one. */
const most = 4;

function Said({ pointed, now }: { readonly pointed: Pointed; readonly now: number }) {
  const told = pointed.gaps.toSorted((a, b) => b.lengthMs - a.lengthMs).slice(0, most);
  return (
    <ul>
      {told.map((gap) => (
        <li key={gap.from}>
          <strong class="num">{formatGap(gap.lengthMs)}</strong>
          <span>{pointed.role}</span>
          <time class="num" title={formatUtc(gap.to)}>
            {formatTime(gap.from, now, true)}
          </time>
          <span class="hands">
            <NodeName id={gap.before} /> → {gap.open ? <em>nobody yet</em> : <NodeName id={gap.after} />}
          </span>
          <span class="muted">{reasonInWords(gap.reason)}</span>
        </li>
      ))}
      {pointed.gaps.length > most ? <li class="muted">and {pointed.gaps.length - most} shorter ones</li> : null}
    </ul>
  );
}

function sentencesOf(gaps: readonly Gap[], now: number): string {
  const told = gaps.slice(0, most).map((gap) => sentenceOf(gap, now));
  return [...told, ...(gaps.length > most ? [`and ${gaps.length - most} more`] : [])].join("; ");
}

function sentenceOf(gap: Gap, now: number): string {
  const who = gap.open ? `${gap.before ?? "nobody"} to nobody yet` : `${gap.before ?? "nobody"} to ${gap.after}`;
  return `${formatGap(gap.lengthMs)} without a leader at ${formatTime(gap.from, now)}, ${who}, ${reasonInWords(gap.reason)}`;
}

function percent(part: number): string {
  return `${(part * 100).toFixed(4)}%`;
}
