import { HoldfastError } from "../../../errors.js";
import { type Charset, scannable } from "./charset.js";
import { type Span, spansAt, stepsTo } from "./element.js";
import { unescapeText } from "./escapes.js";
import { type FieldPath, parseFieldPath } from "./path.js";
import { type Separators, statesSeparators } from "./separators.js";

/** What it takes to read the bytes of a message. */
export interface Syntax {
  readonly separators: Separators;
  readonly charset: Charset;
}

/** One segment of a message, to be read. It is changed through its message. */
export class Hl7Segment {
  /** Its three characters: `OBX`. */
  readonly name: string;
  /** Which one of its name, from 1. */
  readonly number: number;
  readonly #bytes: Uint8Array;
  readonly #syntax: Syntax;
  #scan: Uint8Array | null = null;

  constructor(name: string, number: number, bytes: Uint8Array, syntax: Syntax) {
    this.name = name;
    this.number = number;
    this.#bytes = bytes;
    this.#syntax = syntax;
  }

  /** `OBX[3]`, as it begins a path: `message.set(`${segment.place}-5`, value)`. */
  get place(): string {
    return `${this.name}[${this.number}]`;
  }

  /** The text at `3.1`, `3[2].1.2`; "" where nothing is there. */
  get(path: string): string {
    return this.getAt(parseFieldPath(path));
  }

  /** As `get`, with its escape sequences as they are written. */
  getRaw(path: string): string {
    return this.getRawAt(parseFieldPath(path));
  }

  /** One text a repetition; none where the field is not there or empty. */
  getAll(path: string): readonly string[] {
    return this.getAllAt(parseFieldPath(path));
  }

  getAt(place: FieldPath): string {
    return this.#isSeparators(place) ? this.getRawAt(place) : this.#unescaped(this.#bytesAt(place));
  }

  getRawAt(place: FieldPath): string {
    if (this.#isSeparators(place) && place.field === 1) return this.#syntax.separators.field;
    return this.#syntax.charset.decode(this.#bytesAt(place));
  }

  getAllAt(place: FieldPath): readonly string[] {
    const whole: FieldPath = { field: place.field, repetition: null, component: null, subcomponent: null };
    if (this.#isSeparators(place)) return [this.getRawAt(place)];
    if (this.#bytesAt(whole).length === 0) return [];
    const { separators } = this.#syntax;
    const named = { field: place.field, repetition: place.repetition, component: null, subcomponent: null };
    // Repetition by repetition, so that a component that one of them lacks is an empty text and not a gap.
    const repetitions = spansAt(this.scan, stepsTo(named, this.name, separators, { everyRepetition: true }));
    const [, , ...deeper] = stepsTo(place, this.name, separators, { everyRepetition: true });
    return repetitions.map(({ from, to }) => {
      if (from === to) return "";
      if (deeper.length === 0) return this.#unescaped(this.#bytes.subarray(from, to));
      const [span] = spansAt(this.scan.subarray(from, to), deeper);
      return span === undefined ? "" : this.#unescaped(this.#bytes.subarray(from + span.from, from + span.to));
    });
  }

  /** The whole segment as it is written, without its line end. */
  text(): string {
    return this.#syntax.charset.decode(this.#bytes);
  }

  /** The same as bytes. */
  toBytes(): Uint8Array {
    return this.#bytes;
  }

  /** Where separators are looked for: the bytes, or a copy in which characters cannot be taken for one. @internal */
  get scan(): Uint8Array {
    this.#scan ??= scannable(this.#syntax.charset, this.#bytes);
    return this.#scan;
  }

  #bytesAt(place: FieldPath): Uint8Array {
    const [span]: readonly Span[] = spansAt(this.scan, stepsTo(place, this.name, this.#syntax.separators));
    return span === undefined ? this.#bytes.subarray(0, 0) : this.#bytes.subarray(span.from, span.to);
  }

  #unescaped(bytes: Uint8Array): string {
    const { separators, charset } = this.#syntax;
    return unescapeText(charset.decode(bytes), separators, charset);
  }

  #isSeparators(place: FieldPath): boolean {
    if (!statesSeparators(this.name) || place.field > 2) return false;
    if (place.repetition === null && place.component === null) return true;
    throw new HoldfastError(
      "INVALID_REQUEST",
      `${this.name}-${place.field} holds the separators and has no parts; read it whole, as ${this.name}-${place.field}.`,
    );
  }
}
