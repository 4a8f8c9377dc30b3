import { asciiBytes, carriageReturn, joined, noBytes } from "./bytes.js";
import { pieces, type Span } from "./element.js";
import { escapeText } from "./escapes.js";
import type { Hl7Header } from "./header.js";
import { parsePath } from "./path.js";
import { type Separators, usualSeparators } from "./separators.js";

/** A... speaks for the application, C... of the message being taken in: accepted, error, rejected. */
export type AckCode = "AA" | "AE" | "AR" | "CA" | "CE" | "CR";

export interface AckError {
  /** From table 0357: "207" is an error within the application. */
  readonly code: string;
  /** What the code stands for, for people. */
  readonly text: string;
  /** The place in question: "PID-3.1". */
  readonly path?: string;
}

export interface AckContent {
  readonly code: AckCode;
  /** Of the acknowledgement itself, MSH-10. */
  readonly controlId: string;
  /** When it is written, MSH-7: "20260131123000+0100". */
  readonly at: string;
  /** MSA-3, for people. What is not ASCII becomes "?", so that any charset has it. */
  readonly text?: string;
  readonly error?: AckError;
}

/**
 * The answer to a message: in its separators, version, processing id and charset, from its receiver to its sender, and with its
 * control id in MSA-2 byte for byte. Without a header, which is what bytes have that are no HL7, all this is left empty.
 */
export function acknowledge(header: Hl7Header | null, { code, controlId, at, text, error }: AckContent): Uint8Array {
  const separators = header?.separators ?? usualSeparators;
  const { component, repetition, subcomponent, truncation } = separators;
  const said = (number: number): Uint8Array => harmless(header?.field(number) ?? noBytes);
  const plain = (value: string): Uint8Array => plainBytes(value, separators);
  // MSH-1 is the separator that comes to stand between the name and MSH-2.
  const msh = [
    asciiBytes("MSH"),
    asciiBytes(`${component}${repetition}${separators.escape}${subcomponent}${truncation}`),
    said(5),
    said(6),
    said(3),
    said(4),
    plain(at),
    noBytes,
    typeOf(said(9), separators),
    plain(controlId),
    said(11),
    said(12),
    noBytes,
    noBytes,
    noBytes,
    noBytes,
    noBytes,
    said(18),
  ];
  const msa = [asciiBytes("MSA"), asciiBytes(code), said(10), plain(text ?? "")];
  const err = error === undefined ? [] : [errorFields(error, header?.version ?? "", separators)];
  return joined([msh, msa, ...err].flatMap((fields) => [segmentOf(fields, separators.field), endOfSegment]));
}

const endOfSegment = Uint8Array.of(carriageReturn);
const questionMark = 0x3f;

/** Without the bytes that MLLP ends a frame with, should the message hold such: the frame is the answer's own. */
function harmless(bytes: Uint8Array): Uint8Array {
  return bytes.some(framesOrEnds) ? bytes.map((byte) => (framesOrEnds(byte) ? questionMark : byte)) : bytes;
}

const framesOrEnds = (byte: number): boolean => byte === 0 || byte === 0x0b || byte === 0x1c;

/** As many components as the message's own type has: systems of old versions know "ACK" alone. */
function typeOf(messageType: Uint8Array, { component }: Separators): Uint8Array {
  const whole: Span = { from: 0, to: messageType.length };
  const [, trigger, structure] = pieces(messageType, whole, component);
  if (trigger === undefined) return asciiBytes("ACK");
  const parts = [asciiBytes(`ACK${component}`), messageType.subarray(trigger.from, trigger.to)];
  return joined(structure === undefined ? parts : [...parts, asciiBytes(`${component}ACK`)]);
}

function segmentOf(fields: readonly Uint8Array[], separator: string): Uint8Array {
  const last = fields.findLastIndex((field) => field.length > 0);
  const between = asciiBytes(separator);
  return joined(fields.slice(0, last + 1).flatMap((field, at) => (at === 0 ? [field] : [between, field])));
}

/** A text in ASCII, escaped; what cannot be escaped for want of an escape character becomes "?" too. */
function plainBytes(text: string, separators: Separators): Uint8Array {
  const ascii = text.replaceAll(/[^\t\n\r -~]/gu, "?");
  const escaped = escapeText(ascii, separators);
  if (escaped.kind === "escaped") return asciiBytes(escaped.written);
  return asciiBytes(ascii.replaceAll(/./gs, (each) => (escapeText(each, separators).kind === "escaped" ? each : "?")));
}

const codeTable = "HL70357";

/** Version 2.5 gave ERR fields of their own for what was one before. */
function errorFields({ code, text, path }: AckError, version: string, separators: Separators): readonly Uint8Array[] {
  const [segment, sequence, field, ...deeper] = path === undefined ? [] : locationOf(path);
  const plain = (values: readonly (string | undefined)[], separator: string): Uint8Array =>
    segmentOf(
      values.map((value) => plainBytes(value ?? "", separators)),
      separator,
    );
  const name = asciiBytes("ERR");
  if (isBefore25(version)) {
    const coded = plain([code, text, codeTable], separators.subcomponent);
    return [
      name,
      segmentOf([...[segment, sequence, field].map((part) => asciiBytes(part ?? "")), coded], separators.component),
    ];
  }
  const location = plain([segment, sequence, field, ...deeper], separators.component);
  const coded = plain([code, text, codeTable], separators.component);
  return [name, noBytes, location, coded, asciiBytes("E")];
}

function isBefore25(version: string): boolean {
  const [, minor] = /^2\.(\d+)/.exec(version) ?? [];
  return minor !== undefined && Number(minor) < 5;
}

function locationOf(path: string): readonly string[] {
  const { segment, number, place } = parsePath(path);
  const parts = [number ?? 1, place.field, place.repetition, place.component, place.subcomponent];
  return [segment, ...parts.map((part) => (part === null ? "" : String(part)))];
}
