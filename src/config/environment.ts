import { catalogue } from "./catalogue.js";
import { environmentName } from "./environment-name.js";
import { foreignNames } from "./foreign-names.js";
import { nearest } from "./nearest.js";
import type { Setting } from "./setting.js";
import { isNamed, isSetting, isTables, type Section, snakeCase } from "./shape.js";

export type Environment = Readonly<Record<string, string | undefined>>;

/** The one place that looks at the environment. */
export function readEnvironment(): Environment {
  return process.env;
}

/** A setting that the environment states: its path as a file would spell it, and its value as a file would give it. */
export interface Stated {
  readonly path: readonly string[];
  readonly value: unknown;
}

/** Variables that are ours but no settings: they tell commands where to look. */
const ours = ["HOLDFAST_URL", "HOLDFAST_TOKEN", "HOLDFAST_SERVICE_CONFIG"];

/** Every HOLDFAST_ variable is a setting, or known to be none; what is neither is a problem. */
export function readVariables(environment: Environment): {
  readonly stated: readonly Stated[];
  readonly problems: readonly string[];
} {
  const stated: Stated[] = [];
  const problems: string[] = [];
  for (const [name, text] of Object.entries(environment).sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (!name.startsWith("HOLDFAST_") || text === undefined || isNoSetting(name, text)) continue;
    const known = variables.get(name) ?? namedVariable(name);
    if (known === null) problems.push(unknownVariable(name));
    else stated.push({ path: known.path, value: known.fromText(text) });
  }
  return { stated, problems };
}

/**
 * Beside our own there are those that Kubernetes sets in every pod for a service that is called holdfast or holdfast-x:
 * HOLDFAST_SERVICE_HOST, HOLDFAST_PORT_7400_TCP_ADDR, and HOLDFAST_PORT or HOLDFAST_API_PORT as tcp://10.0.0.1:7400.
 */
function isNoSetting(name: string, text: string): boolean {
  if (ours.includes(name) || name.startsWith("HOLDFAST_TEST_")) return true;
  if (/_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_[A-Z]+)?$/.test(name)) return true;
  return name.endsWith("_PORT") && /^(tcp|udp|sctp):\/\//.test(text);
}

interface Variable {
  readonly path: readonly string[];
  readonly fromText: Setting<unknown>["fromText"];
}

const variables: ReadonlyMap<string, Variable> = new Map(
  variablesOf(catalogue, []).map((variable) => [environmentName(variable.path.join(".")), variable]),
);

function variablesOf(section: Section, path: readonly string[]): readonly Variable[] {
  return Object.entries(section).flatMap(([key, entry]): readonly Variable[] => {
    const at = [...path, snakeCase(key)];
    if (isSetting(entry)) return [{ path: at, fromText: entry.fromText }];
    if (isTables(entry)) return [{ path: at, fromText: fromJson }];
    return isNamed(entry) ? [] : variablesOf(entry, at);
  });
}

/** Tables come as JSON. What is none is passed on, to be refused as what it is. */
function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** HOLDFAST_ROLES_SCHEDULER_LOCK_KEY: the name in the middle is the user's, and cannot hold capitals. */
function namedVariable(name: string): Variable | null {
  for (const [key, entry] of Object.entries(catalogue)) {
    if (!isNamed(entry)) continue;
    for (const [inner, setting] of Object.entries(entry.each)) {
      const [, middle] =
        new RegExp(`^${environmentName(snakeCase(key))}_(.+)_${snakeCase(inner).toUpperCase()}$`).exec(name) ?? [];
      if (middle !== undefined) {
        return { path: [snakeCase(key), middle.toLowerCase(), snakeCase(inner)], fromText: setting.fromText };
      }
    }
  }
  return null;
}

function unknownVariable(name: string): string {
  const bare = name.slice("HOLDFAST_".length).toLowerCase();
  const foreign = Object.keys(foreignNames).find((theirs) => bare === theirs || bare.endsWith(`_${theirs}`));
  if (foreign !== undefined) {
    return `${name} is not a setting here: ours is ${environmentName(foreignNames[foreign] ?? "")}.`;
  }
  return `${name} is not a setting. Did you mean ${nearest(name, [...variables.keys(), ...ours])}?`;
}
