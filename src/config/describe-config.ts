import { catalogue } from "./catalogue.js";
import type { Config } from "./config.js";
import type { Sources } from "./load-config.js";
import { showValue } from "./setting.js";
import { isNamed, isSetting, isTables, type Section, snakeCase } from "./shape.js";

/** A setting as an operator is shown it. */
export interface SettingRow {
  readonly key: string;
  readonly value: string;
  readonly source: "default" | "file" | "environment";
}

/** Every setting with its value and where that came from; of a secret only whether there is one. */
export function describeConfig(config: Config, sources: Sources): readonly SettingRow[] {
  const rows = rowsOf(catalogue, config as unknown as Table, "");
  const pinned = [...config.lockKeys].map(([role, key]) => ({ key: `roles.${role}.lock_key`, value: String(key) }));
  return [...rows, ...pinned].map((row) => ({ ...row, source: sourceOf(row.key, sources) }));
}

type Row = Pick<SettingRow, "key" | "value">;
type Table = Readonly<Record<string, unknown>>;

function rowsOf(section: Section, values: Table, path: string): readonly Row[] {
  return Object.entries(section).flatMap(([key, entry]): readonly Row[] => {
    const name = `${path}${snakeCase(key)}`;
    const value = values[key];
    if (isNamed(entry)) return [];
    if (isSetting(entry)) return [{ key: name, value: showValue(entry, value) }];
    if (!isTables(entry)) return rowsOf(entry, value as Table, `${name}.`);
    const rows = value as readonly Table[];
    if (rows.length === 0) return [{ key: name, value: "[]" }];
    return rows.flatMap((row, index) => rowsOf(entry.columns, row, `${name}[${index}].`));
  });
}

/** A column that was not written is a default; a table in the environment is all of it from there. */
function sourceOf(key: string, sources: Sources): SettingRow["source"] {
  if (!Object.hasOwn(sources, key)) return "default";
  const table = key.replace(/\[.*$/, "");
  return sources[key] === "environment" || sources[table] === "environment" ? "environment" : "file";
}
