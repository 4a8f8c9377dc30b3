import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { catalogue } from "../../src/config/catalogue.js";
import type { Config } from "../../src/config/config.js";
import { type LoadedConfig, loadConfig } from "../../src/config/load-config.js";
import { LockKeys } from "../../src/config/lock-keys.js";
import { Secret } from "../../src/config/secret.js";
import type { Setting } from "../../src/config/setting.js";
import { isNamed, isSetting, isTables, type Section, snakeCase } from "../../src/config/shape.js";
import { HoldfastError } from "../../src/errors.js";

type Variables = Readonly<Record<string, string>>;

/** Loads a file of this text, with these variables and no others. */
export function loadText(toml: string | Uint8Array | null, env: Variables = {}): LoadedConfig {
  const cwd = mkdtempSync(join(tmpdir(), "holdfast-settings-"));
  try {
    if (toml !== null) writeFileSync(join(cwd, "holdfast.toml"), toml);
    return loadConfig({ env, cwd });
  } finally {
    rmSync(cwd, { recursive: true });
  }
}

/** What a load says that must fail. */
export function refusalOf(load: () => unknown): HoldfastError {
  try {
    load();
  } catch (error) {
    if (error instanceof HoldfastError && error.code === "BAD_SETTINGS") return error;
    throw error;
  }
  throw new Error("the settings were taken");
}

/** A configuration with its secrets laid open, since two secrets look alike by design. */
export function laidOpen(config: Config): unknown {
  return JSON.parse(
    JSON.stringify(config, function (this: Record<string, unknown>, key, value: unknown) {
      const original = this[key];
      if (original instanceof Secret) return { secret: original.reveal() };
      return original instanceof LockKeys ? original.toJSON() : value;
    }),
  );
}

/** Every setting of a section with its path; those of tables and of named sections under "[]" and "<>". */
export function everySetting(
  section: Section = catalogue,
  path = "",
): readonly { readonly path: string; readonly setting: Setting<unknown> }[] {
  return Object.entries(section).flatMap(([key, entry]) => {
    const at = `${path}${snakeCase(key)}`;
    if (isSetting(entry)) return [{ path: at, setting: entry }];
    if (isTables(entry)) return everySetting(entry.columns, `${at}[].`);
    return isNamed(entry) ? everySetting(entry.each, `${at}.<>.`) : everySetting(entry, `${at}.`);
  });
}
