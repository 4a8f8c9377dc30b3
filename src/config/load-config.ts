import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { catalogue } from "./catalogue.js";
import { type Config, settle } from "./config.js";
import { type Environment, readEnvironment, readVariables, type Stated } from "./environment.js";
import { environmentName } from "./environment-name.js";
import { readSettingsFile } from "./settings-file.js";
import { isNamed, isSetting, isTables, type Section, snakeCase } from "./shape.js";

export interface LoadOptions {
  /** The settings file; null takes ./holdfast.toml where there is one. */
  readonly file?: string | null;
  readonly env?: Environment;
  readonly cwd?: string;
}

/** Where each setting that somebody stated came from. The rest are defaults. */
export type Sources = Readonly<Record<string, "file" | "environment">>;

export interface LoadedConfig {
  readonly config: Config;
  readonly sources: Sources;
  /** The file that was read, if any. */
  readonly file: string | null;
}

/** Settings as a command takes them: the file, and over it the environment. Everything that is wrong is told at once. */
export function loadConfig({
  file = null,
  env = readEnvironment(),
  cwd = process.cwd(),
}: LoadOptions = {}): LoadedConfig {
  const found = findFile(file ?? env.HOLDFAST_SERVICE_CONFIG ?? "", cwd);
  const written: Table = found === null ? emptyTable() : readSettingsFile(found);
  const misplaced = takeSecrets(catalogue, written, []);
  const variables = readVariables(env);
  for (const stated of variables.stated) put(written, stated);
  const fromEnvironment = new Set(variables.stated.map(({ path }) => path.join(".")));
  const { config, stated } = settle(
    written,
    { of: "file", fromEnvironment },
    { ownConnection: false, problems: [...misplaced, ...variables.problems] },
  );
  const sources = [...stated].map((path) => [path, fromEnvironment.has(path) ? "environment" : "file"] as const);
  return { config, sources: Object.freeze(Object.fromEntries(sources)), file: found };
}

function findFile(named: string, cwd: string): string | null {
  if (named !== "") return resolve(cwd, named);
  const usual = join(cwd, "holdfast.toml");
  return existsSync(usual) ? usual : null;
}

type Table = Record<string, unknown>;

/** Without a prototype, as the file's are: "__proto__" is a name like any other. */
const emptyTable = (): Table => Object.create(null) as Table;

/** Takes what does not belong into a file out of it, even where the environment says it too, and says where it belongs. */
function takeSecrets(section: Section, table: unknown, path: readonly string[]): readonly string[] {
  if (!isTable(table)) return [];
  return Object.entries(section).flatMap(([key, entry]): readonly string[] => {
    const at = [...path, snakeCase(key)];
    const name = at.join(".");
    if (isTables(entry) || isNamed(entry)) return [];
    if (!isSetting(entry)) return takeSecrets(entry, table[snakeCase(key)], at);
    if (entry.notInFile === undefined || !Object.hasOwn(table, snakeCase(key))) return [];
    delete table[snakeCase(key)];
    return [`${name} is a secret and has no place in a file: set ${environmentName(name)} in the environment.`];
  });
}

/** Over whatever the file says there. A section that is none stays as it is, to be refused. */
function put(into: Table, { path, value }: Stated): void {
  let table: unknown = into;
  for (const key of path.slice(0, -1)) {
    if (!isTable(table)) return;
    if (!Object.hasOwn(table, key)) table[key] = emptyTable();
    table = table[key];
  }
  const last = path.at(-1);
  if (isTable(table) && last !== undefined) table[last] = value;
}

function isTable(value: unknown): value is Table {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}
