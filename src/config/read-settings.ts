import { foreignNames, type Given, type Values } from "./catalogue.js";
import { badSetting, type Setting } from "./setting.js";

type SectionShape = { readonly [key: string]: Setting<unknown> | SectionShape };

/** Values and which of them the user stated, since some defaults give way and stated values never do. */
export interface Read<Section> {
  readonly values: Values<Section>;
  readonly stated: ReadonlySet<string>;
}

/** Reads a section: every key known, every value of its kind, the rest by default. Stops at the first that is not. */
export function readSettings<Section extends SectionShape>(section: Section, given: Given<Section>): Read<Section> {
  const stated = new Set<string>();
  const values = readSection(section, given, "", stated);
  return { values: values as Values<Section>, stated };
}

function readSection(
  section: SectionShape,
  given: unknown,
  path: string,
  stated: Set<string>,
): Record<string, unknown> {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw badSetting(`${path.slice(0, -1) || "the options"} must be a section of settings.`);
  }
  for (const key of Object.keys(given)) {
    if (!Object.hasOwn(section, key)) throw unknownKey(section, key, path);
  }
  const values: Record<string, unknown> = {};
  for (const [key, setting] of Object.entries(section)) {
    const name = `${path}${snakeCase(key)}`;
    const value = (given as Record<string, unknown>)[key];
    if (isSetting(setting)) {
      if (value !== undefined) stated.add(name);
      values[key] = value === undefined ? setting.fallback : readValue(setting, value, name);
    } else {
      values[key] = readSection(setting, value ?? {}, `${name}.`, stated);
    }
  }
  return Object.freeze(values);
}

function isSetting(entry: Setting<unknown> | SectionShape): entry is Setting<unknown> {
  return typeof (entry as Setting<unknown>).read === "function";
}

function readValue(setting: Setting<unknown>, value: unknown, name: string): unknown {
  if (name === "store.backend" && value === "sqlserver") {
    throw badSetting(
      'store.backend = "sqlserver" does not exist yet: use "postgres", or "embedded" to try things out.',
    );
  }
  const read = setting.read(value);
  if ("value" in read) return read.value;
  const shown = name.endsWith("password") ? "" : `, not ${JSON.stringify(value)}`;
  throw badSetting(`${name} must be ${read.mustBe}${shown}.`);
}

function unknownKey(section: SectionShape, key: string, path: string): Error {
  const name = `${path}${snakeCase(key)}`;
  const ours = foreignNames[snakeCase(key)];
  if (ours !== undefined) return badSetting(`${name} is not a setting here: ours is ${ours}.`);
  const nearest = Object.keys(section)
    .map((known) => ({ known, distance: editDistance(key.toLowerCase(), known.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)[0];
  const hint = nearest === undefined ? "" : ` Did you mean ${path}${snakeCase(nearest.known)}?`;
  return badSetting(`${name} is not a setting.${hint}`);
}

export function snakeCase(name: string): string {
  if (/^[A-Z0-9_]+$/.test(name)) return name.toLowerCase(); // A name of the environment.
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Levenshtein's distance, one row at a time. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const change = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
