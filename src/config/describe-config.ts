import { catalogue } from "./catalogue.js";
import type { Config } from "./config.js";
import type { Sources } from "./load-config.js";
import { Secret } from "./secret.js";
import { type Setting, showValue } from "./setting.js";
import { isNamed, isSetting, isTables, type Section, snakeCase } from "./shape.js";

/** A setting as an operator is shown it, which for a secret is whether there is one. */
export interface SettingRow {
  readonly key: string;
  /** For other programs; null for a secret that is not set. */
  readonly value: unknown;
  /** For people. */
  readonly text: string;
  /** "derived": nobody stated it, and other settings make it another than the default. */
  readonly source: "default" | "derived" | "file" | "environment";
}

/** Every setting with the value that a node would use and where that came from. `tls` is what the connection does. */
export function describeConfig(
  config: Config,
  sources: Sources,
  tls: Config["store"]["tls"] = config.store.tls,
): readonly SettingRow[] {
  const { backend, store, lockKeys, ...rest } = config;
  const used = { ...rest, store: { ...store, backend, tls } };
  const pinned = [...lockKeys].map(([role, key]) => ({
    key: `roles.${role}.lock_key`,
    value: Number.isSafeInteger(Number(key)) ? Number(key) : String(key),
    text: String(key),
    isFallback: false,
  }));
  return [...rowsOf(catalogue, used as unknown as Table, ""), ...pinned].map(({ isFallback, ...row }) => {
    const source = sourceOf(row.key, sources);
    return { ...row, source: source === "default" && !isFallback ? "derived" : source };
  });
}

type Row = Omit<SettingRow, "source"> & { readonly isFallback: boolean };
type Table = Readonly<Record<string, unknown>>;

function rowsOf(section: Section, values: Table, path: string): readonly Row[] {
  return Object.entries(section).flatMap(([key, entry]): readonly Row[] => {
    const name = `${path}${snakeCase(key)}`;
    const value = values[key];
    if (isNamed(entry)) return [];
    if (isSetting(entry)) return [rowOf(name, entry, value)];
    if (!isTables(entry)) return rowsOf(entry, value as Table, `${name}.`);
    const rows = value as readonly Table[];
    if (rows.length === 0) return [{ key: name, value: [], text: "[]", isFallback: true }];
    return rows.flatMap((row, index) => rowsOf(entry.columns, row, `${name}[${index}].`));
  });
}

function rowOf(key: string, setting: Setting<unknown>, value: unknown): Row {
  const text = showValue(setting, value);
  return { key, text, value: jsonOf(value, text), isFallback: text === showValue(setting, setting.fallback) };
}

/** What is shown is JSON, but for what is hidden: that stays the words that stand for it. */
function jsonOf(value: unknown, text: string): unknown {
  if (value instanceof Secret) return value.isEmpty ? null : text;
  return text.startsWith("(") ? text : (JSON.parse(text) as unknown);
}

/** A column that was not written is a default; a table in the environment is all of it from there. */
function sourceOf(key: string, sources: Sources): Exclude<SettingRow["source"], "derived"> {
  if (!Object.hasOwn(sources, key)) return "default";
  const table = key.replace(/\[.*$/, "");
  return sources[key] === "environment" || sources[table] === "environment" ? "environment" : "file";
}
