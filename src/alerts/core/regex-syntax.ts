import { anyButNewline, type CharSet, escapedSets, single, union } from "./char-set.js";

/** A pattern, taken apart. */
export type Pattern =
  | { readonly kind: "one"; readonly of: CharSet }
  | { readonly kind: "edge"; readonly at: "start" | "end" }
  | { readonly kind: "sequence"; readonly items: readonly Pattern[] }
  | { readonly kind: "choice"; readonly options: readonly Pattern[] }
  /** `most` is null where there is no limit. */
  | { readonly kind: "repeat"; readonly of: Pattern; readonly least: number; readonly most: number | null };

/** The pattern cannot be read, or asks for more than the subset has. Its message is one line without a full stop. */
export class PatternError extends Error {}

const mostRepetitions = 1_000;
const deepestNesting = 100;
const control: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", f: "\f", v: "\v", a: "\x07" };

/** Reads the pattern from left to right, as RE2 does. */
export class PatternReader {
  readonly ignoresCase: boolean;
  private readonly characters: readonly string[];
  private at = 0;
  private depth = 0;

  constructor(source: string) {
    this.ignoresCase = source.startsWith("(?i)");
    this.characters = Array.from(this.ignoresCase ? source.slice(4) : source);
  }

  read(): Pattern {
    const pattern = this.choice();
    if (this.at < this.characters.length) throw new PatternError('it has a ")" without its "("');
    return pattern;
  }

  private get next(): string | undefined {
    return this.characters[this.at];
  }

  private take(text: string): boolean {
    const taken = this.characters.slice(this.at, this.at + text.length).join("") === text;
    if (taken) this.at += text.length;
    return taken;
  }

  private choice(): Pattern {
    const options = [this.sequence()];
    while (this.take("|")) options.push(this.sequence());
    return options.length === 1 && options[0] !== undefined ? options[0] : { kind: "choice", options };
  }

  private sequence(): Pattern {
    const items: Pattern[] = [];
    while (this.next !== undefined && this.next !== "|" && this.next !== ")") items.push(this.repeated());
    return { kind: "sequence", items };
  }

  private repeated(): Pattern {
    const of = this.one();
    const times = this.repetition();
    if (times === null) return of;
    if (of.kind === "edge") throw new PatternError('nothing is there for "*", "+", "?" or "{}" to repeat');
    // How much is taken first makes no difference to whether the whole text matches.
    this.take("?");
    if (this.repetition() !== null) throw new PatternError("it repeats a repetition; put the inner one in parentheses");
    const repeated = { kind: "repeat", of, ...times } as const;
    if (timesOf(repeated) > mostRepetitions) {
      throw new PatternError(`it repeats repetitions more than ${mostRepetitions} times in all`);
    }
    return repeated;
  }

  private repetition(): { readonly least: number; readonly most: number | null } | null {
    if (this.take("*")) return { least: 0, most: null };
    if (this.take("+")) return { least: 1, most: null };
    if (this.take("?")) return { least: 0, most: 1 };
    // A brace that opens no repetition is a brace.
    const counted = /^\{(\d{1,9})(,(\d{0,9}))?\}/.exec(this.characters.slice(this.at, this.at + 22).join(""));
    if (counted === null) return null;
    const [whole, low = "", comma, high = ""] = counted;
    const least = Number(low);
    const most = comma === undefined ? least : high === "" ? null : Number(high);
    if (least > mostRepetitions || (most !== null && (most > mostRepetitions || most < least))) {
      throw new PatternError(`"${whole}" is no repetition; the limit is ${mostRepetitions}`);
    }
    this.at += whole.length;
    return { least, most };
  }

  private one(): Pattern {
    const character = this.characters[this.at];
    if (character !== undefined && /[*+?]/.test(character)) {
      throw new PatternError(`nothing is there for "${character}" to repeat`);
    }
    this.at += 1;
    switch (character) {
      case "(":
        return this.group();
      case "[":
        return { kind: "one", of: this.characterClass() };
      case ".":
        return { kind: "one", of: anyButNewline };
      case "^":
        return { kind: "edge", at: "start" };
      case "$":
        return { kind: "edge", at: "end" };
      case "\\":
        return { kind: "one", of: this.escape() };
      default:
        return { kind: "one", of: single(character?.codePointAt(0) ?? 0) };
    }
  }

  private group(): Pattern {
    this.depth += 1;
    if (this.depth > deepestNesting) throw new PatternError(`it nests more than ${deepestNesting} groups`);
    if (this.take("?") && !this.take(":")) {
      throw new PatternError('of the groups that start with "(?" only "(?:" is known, and "(?i)" at the very start');
    }
    const inner = this.choice();
    if (!this.take(")")) throw new PatternError('it has a "(" without its ")"');
    this.depth -= 1;
    return inner;
  }

  private characterClass(): CharSet {
    const negated = this.take("^");
    const sets: CharSet[] = [];
    // A bracket that comes first stands for itself.
    while (sets.length === 0 || this.next !== "]") sets.push(this.classItem());
    this.at += 1;
    return union(sets, negated);
  }

  private classItem(): CharSet {
    const low = this.classCharacter();
    const isRange = this.next === "-" && ![undefined, "]"].includes(this.characters[this.at + 1]);
    if (!isRange) return low;
    this.at += 1;
    const from = codeOfOne(low);
    const to = codeOfOne(this.classCharacter());
    if (from === null || to === null || to < from)
      throw new PatternError("it has a range of characters without a sense");
    return { ranges: [[from, to]], negated: false };
  }

  private classCharacter(): CharSet {
    const character = this.next;
    if (character === undefined) throw new PatternError('it has a "[" without its "]"');
    if (character === "[" && this.characters[this.at + 1] === ":") {
      throw new PatternError('classes like "[:alpha:]" are not known; write the characters');
    }
    this.at += 1;
    return character === "\\" ? this.escape() : single(character.codePointAt(0) ?? 0);
  }

  private escape(): CharSet {
    const character = this.next;
    if (character === undefined) throw new PatternError("it ends with a backslash");
    this.at += 1;
    const set = Object.hasOwn(escapedSets, character) ? escapedSets[character] : undefined;
    if (set !== undefined) return set;
    if (character === "x") return single(this.hexadecimal());
    const meant = Object.hasOwn(control, character) ? control[character] : undefined;
    const literal = meant ?? (/^[!-/:-@[-`{-~ ]$/.test(character) ? character : undefined);
    if (literal === undefined) throw new PatternError(`"\\${character}" is not known`);
    return single(literal.codePointAt(0) ?? 0);
  }

  private hexadecimal(): number {
    const ahead = this.characters.slice(this.at, this.at + 10).join("");
    const [whole, short, long] = /^(?:([0-9a-fA-F]{2})|\{([0-9a-fA-F]{1,8})\})/.exec(ahead) ?? [];
    const code = Number.parseInt(short ?? long ?? "", 16);
    if (whole === undefined || !(code <= 0x10ffff)) throw new PatternError('"\\x" needs two digits, or some in braces');
    this.at += whole.length;
    return code;
  }
}

/** How often the innermost is written out: what is empty takes no step, and would be gone through all the same. */
function timesOf(pattern: Pattern): number {
  switch (pattern.kind) {
    case "one":
    case "edge":
      return 1;
    case "sequence":
      return Math.max(1, ...pattern.items.map(timesOf));
    case "choice":
      return Math.max(1, ...pattern.options.map(timesOf));
    case "repeat":
      return pattern.most === 0 ? 1 : Math.max(1, pattern.most ?? pattern.least) * timesOf(pattern.of);
  }
}

function codeOfOne({ ranges, negated }: CharSet): number | null {
  const [first, ...more] = ranges;
  return !negated && more.length === 0 && first !== undefined && first[0] === first[1] ? first[0] : null;
}
