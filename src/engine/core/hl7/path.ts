import { HoldfastError } from "../../../errors.js";

/** A place within a segment. What is null was not named. */
export interface FieldPath {
  readonly field: number;
  readonly repetition: number | null;
  readonly component: number | null;
  readonly subcomponent: number | null;
}

export interface SegmentPath {
  readonly segment: string;
  /** Which one of that name, from 1; null where it was not named. */
  readonly number: number | null;
}

export interface MessagePath extends SegmentPath {
  readonly place: FieldPath;
  /** As it was written, for errors. */
  readonly text: string;
}

const segmentForm = /^([A-Z][A-Z0-9]{2})(?:\[([1-9]\d{0,5})\])?$/;
const fieldForm = /^([1-9]\d{0,3})(?:\[([1-9]\d{0,5})\])?(?:\.([1-9]\d{0,3})(?:\.([1-9]\d{0,3}))?)?$/;

/** `PID-3`, `PID-3.1`, `PID-3[2].1.2`, `OBX[3]-5`. Everything counts from 1. */
export function parsePath(text: string): MessagePath {
  const known = knownPaths.get(text);
  if (known !== undefined) return known;
  const path = newPath(text);
  if (knownPaths.size >= mostKnownPaths) knownPaths.clear();
  knownPaths.set(text, path);
  return path;
}

/** Programs ask for the same few paths again and again. */
const knownPaths = new Map<string, MessagePath>();
const mostKnownPaths = 1_000;

function newPath(text: string): MessagePath {
  const dash = String(text).indexOf("-");
  const segment = dash < 0 ? null : segmentForm.exec(text.slice(0, dash));
  const place = dash < 0 ? null : fieldPathOf(text.slice(dash + 1));
  if (segment === null || place === null) throw noPath(text, "like PID-3, PID-3.1, PID-3[2].1.2 or OBX[3]-5");
  return { ...segmentPathOf(segment), place, text };
}

/** `OBX` or `OBX[3]`. */
export function parseSegmentPath(text: string): SegmentPath {
  const segment = segmentForm.exec(text);
  if (segment === null) throw noPath(text, "as the segment's name, like OBX or OBX[3]");
  return segmentPathOf(segment);
}

/** `3`, `3.1`, `3[2].1.2`: within a segment that is at hand. */
export function parseFieldPath(text: string): FieldPath {
  const place = fieldPathOf(String(text));
  if (place === null) throw noPath(text, "like 3, 3.1 or 3[2].1.2");
  return place;
}

function fieldPathOf(text: string): FieldPath | null {
  const found = fieldForm.exec(text);
  if (found === null) return null;
  const [, field, repetition, component, subcomponent] = found;
  return {
    field: Number(field),
    repetition: numberOf(repetition),
    component: numberOf(component),
    subcomponent: numberOf(subcomponent),
  };
}

function segmentPathOf([, segment = "", number]: RegExpExecArray): SegmentPath {
  return { segment, number: numberOf(number) };
}

const numberOf = (digits: string | undefined): number | null => (digits === undefined ? null : Number(digits));

const longestShown = 60;

function noPath(text: string, form: string): HoldfastError {
  const shown = JSON.stringify(String(text).slice(0, longestShown));
  return new HoldfastError("INVALID_REQUEST", `${shown} is no path; write it ${form}, counted from 1.`);
}
