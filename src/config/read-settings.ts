import { environmentName } from "./environment-name.js";
import { foreignNames } from "./foreign-names.js";
import { nearest } from "./nearest.js";
import type { Setting } from "./setting.js";
import {
  type Entry,
  isNamed,
  isSetting,
  isTables,
  type Named,
  type Section,
  snakeCase,
  type Tables,
  type Values,
} from "./shape.js";
import { shown } from "./shown.js";

/** The values, which of them the user stated (some defaults give way, stated values never do), and all that is wrong. */
export interface Read<Shape> {
  readonly values: Values<Shape>;
  readonly stated: ReadonlySet<string>;
  /** Stated, but not to be used: what depends on them cannot be judged. */
  readonly unreadable: ReadonlySet<string>;
  readonly problems: readonly string[];
}

export interface Spelling {
  /** camelCase in the library, snake_case in a file and in the environment. */
  readonly of: "library" | "file";
  /** The settings that came from the environment, which errors call by its names. */
  readonly fromEnvironment: ReadonlySet<string>;
}

/** Where in the settings the reader is, and what an error calls that place. */
interface Place {
  readonly path: string;
  readonly name: string;
}

/** Reads settings: every key known, every value of its kind, the rest by default. Collects whatever is not so. */
export function readSettings<Shape extends Section>(shape: Shape, given: unknown, spelling: Spelling): Read<Shape> {
  const reader = new SettingsReader(spelling);
  const values = reader.section(shape, given, { path: "", name: "" }) as Values<Shape>;
  return { values, stated: reader.stated, unreadable: reader.unreadable, problems: reader.problems };
}

class SettingsReader {
  readonly stated = new Set<string>();
  readonly unreadable = new Set<string>();
  readonly problems: string[] = [];
  private readonly spelling: Spelling;

  constructor(spelling: Spelling) {
    this.spelling = spelling;
  }

  section(shape: Section, given: unknown, place: Place): Readonly<Record<string, unknown>> {
    const table = this.table(given, place);
    const known = new Map(Object.keys(shape).map((key) => [this.spell(key), key]));
    for (const key of Object.keys(table)) {
      if (!known.has(key)) this.problems.push(this.unknownKey(key, [...known.keys()], place));
    }
    const values: Record<string, unknown> = {};
    for (const [written, key] of known) {
      const entry = shape[key];
      if (entry === undefined) continue;
      const value = Object.hasOwn(table, written) ? table[written] : undefined;
      values[key] = this.entry(entry, value, this.within(place, snakeCase(key)));
    }
    return Object.freeze(values);
  }

  private entry(entry: Entry, given: unknown, place: Place): unknown {
    if (isSetting(entry)) return this.setting(entry, given, place);
    if (isTables(entry)) return this.tables(entry, given, place);
    if (isNamed(entry)) return this.named(entry, given, place);
    return this.section(entry, given, place);
  }

  private setting(setting: Setting<unknown>, given: unknown, place: Place): unknown {
    if (given === undefined) {
      if (setting.required) this.refuse(place, `${place.name} is missing.`);
      return setting.fallback;
    }
    this.stated.add(place.path);
    if (place.path === "store.backend" && given === "sqlserver") {
      const instead = 'use "postgres", or "embedded" to try things out';
      this.refuse(place, `${place.name} = "sqlserver" does not exist yet: ${instead}.`);
      return setting.fallback;
    }
    const read = setting.read(given);
    if ("value" in read) return read.value;
    const not = setting.hidden ? "" : `, not ${shown(given)}`;
    const hint = read.hint === undefined ? "" : ` ${read.hint}`;
    this.refuse(place, `${place.name} must be ${read.mustBe}${not}.${hint}`);
    return setting.fallback;
  }

  private tables({ columns }: Tables<Section>, given: unknown, place: Place): readonly unknown[] {
    if (given === undefined) return Object.freeze([]);
    this.stated.add(place.path);
    if (!Array.isArray(given)) {
      this.refuse(place, `${place.name} must be a list of tables.`);
      return Object.freeze([]);
    }
    const names = new Set<unknown>();
    const rows = given.map((row: unknown, index) => {
      const at = { path: `${place.path}[${index}]`, name: `${place.name}[${index}]` };
      const values = this.section(columns, row, at);
      const named = this.within(at, "name");
      if (names.has(values.name) && !this.unreadable.has(named.path)) {
        this.refuse(named, `${named.name} (${shown(values.name)}) is used twice: give each its own.`);
      }
      names.add(values.name);
      return values;
    });
    return Object.freeze(rows);
  }

  private named(entry: Named<Section>, given: unknown, place: Place): Readonly<Record<string, unknown>> {
    const values = Object.create(null) as Record<string, unknown>;
    for (const [name, section] of Object.entries(this.table(given, place))) {
      const at = this.within(place, name);
      if (entry.pattern.test(name)) values[name] = this.section(entry.each, section, at);
      else this.refuse(at, `${at.name} must be named by ${entry.mustBe}.`);
    }
    return Object.freeze(values);
  }

  /** A table as it is, an empty one where there is none. */
  private table(given: unknown, place: Place): Readonly<Record<string, unknown>> {
    if (given === undefined) return {};
    if (typeof given === "object" && given !== null && !Array.isArray(given)) return given as Record<string, unknown>;
    this.refuse(place, `${place.name || "the options"} must be a section of settings.`);
    return {};
  }

  private unknownKey(key: string, known: readonly string[], place: Place): string {
    const name = join(place.name, this.spelling.of === "library" ? snakeCase(key) : key);
    const foreign = snakeCase(key);
    if (Object.hasOwn(foreignNames, foreign)) return `${name} is not a setting here: ours is ${foreignNames[foreign]}.`;
    const meant = nearest(key, known);
    if (meant === null) return `${name} is not a setting.`;
    if (this.spelling.of === "library" && snakeCase(meant) === key) return `${name} is written ${meant} here.`;
    return `${name} is not a setting. Did you mean ${join(place.name, snakeCase(meant))}?`;
  }

  private spell(key: string): string {
    return this.spelling.of === "library" ? key : snakeCase(key);
  }

  private within(place: Place, key: string): Place {
    const path = join(place.path, key);
    const known = this.spelling.fromEnvironment.has(path);
    return { path, name: known ? environmentName(path) : join(place.name, key) };
  }

  private refuse(place: Place, problem: string): void {
    this.unreadable.add(place.path);
    this.problems.push(problem);
  }
}

/** Whether a setting, or a section that it is in, could not be read. */
export function isUnreadable({ unreadable }: Pick<Read<unknown>, "unreadable">, path: string): boolean {
  return [...unreadable].some((wrong) => path === wrong || path.startsWith(`${wrong}.`));
}

const join = (path: string, key: string): string => (path === "" ? key : `${path}.${key}`);
