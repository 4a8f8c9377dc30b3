import type { Setting } from "./setting.js";

/** A section of settings, which may hold further ones. */
export interface Section {
  readonly [key: string]: Entry;
}

export type Entry = Setting<unknown> | Tables<Section> | Named<Section> | Section;

/** A list of tables, `[[crons]]`: each has the same columns, and a name of its own. */
export interface Tables<Columns extends Section> {
  readonly kind: "tables";
  readonly columns: Columns;
  readonly doc: string;
}

/** Sections whose names the user chooses, `[roles.<role>]`. */
export interface Named<Each extends Section> {
  readonly kind: "named";
  readonly each: Each;
  /** What stands for the name in a text about all of them. */
  readonly placeholder: string;
  readonly pattern: RegExp;
  /** What a name must be, as the end of a sentence. */
  readonly mustBe: string;
  readonly doc: string;
}

/** A section's values, all of them. */
export type Values<Shape> = {
  readonly [Key in keyof Shape]: ValueOf<Shape[Key]>;
};

type ValueOf<Entry> =
  Entry extends Setting<infer Value, infer _Given>
    ? Value
    : Entry extends Tables<infer Columns>
      ? readonly Values<Columns>[]
      : Entry extends Named<infer Each>
        ? Readonly<Record<string, Values<Each>>>
        : Values<Entry>;

/** A section as a user of the library gives it: any part of it. */
export type Given<Shape> = {
  readonly [Key in keyof Shape]?: GivenOf<Shape[Key]> | undefined;
};

type GivenOf<Entry> =
  Entry extends Setting<infer _Value, infer Given_>
    ? Given_
    : Entry extends Tables<infer Columns>
      ? readonly Given<Columns>[]
      : Entry extends Named<infer Each>
        ? Readonly<Record<string, Given<Each>>>
        : Given<Entry>;

export function isSetting(entry: Entry): entry is Setting<unknown> {
  return typeof (entry as Setting<unknown>).read === "function";
}

export function isTables(entry: Entry): entry is Tables<Section> {
  return (entry as Tables<Section>).kind === "tables";
}

export function isNamed(entry: Entry): entry is Named<Section> {
  return (entry as Named<Section>).kind === "named";
}

/** heartbeatSeconds in the library is heartbeat_seconds in a file, and HEARTBEAT_SECONDS in the environment. */
export function snakeCase(name: string): string {
  if (/^[A-Z0-9_]+$/.test(name)) return name.toLowerCase();
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
