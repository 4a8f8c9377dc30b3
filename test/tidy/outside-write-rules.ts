import { destinationUnits, type Unit } from "./outside-write-units.js";
import type { SourceFile, Violation } from "./source-tree.js";
import { importsOf } from "./syntax.js";

/** What a destination may reach the outside by. Another module would bring ways of writing that these rules do not know. */
const knownModules = [
  "node:crypto",
  "node:fs",
  "node:fs/promises",
  "node:http",
  "node:https",
  "node:net",
  "node:path",
  "node:timers/promises",
  "node:tls",
  "ssh2",
  "ssh2-sftp-client",
];

/** Where something of our own is taken away that nobody else sees: the hidden file of a delivery that did not come about. */
export const sweepers = ["FolderDestination.discard", "LocalOutbox.open", "SftpOutbox.sweep"];
const sweeping = "remove";

/**
 * Walks from everything that a destination's module holds, by the names of what is called or handed on, through all modules
 * that destinations import, and tells of each outside write that is reached other than through `guardedWrite`. Names are
 * taken for whatever bears them, so it may tell of too much. It does not see a name that is put together at run time.
 */
export function outsideWriteViolations(files: readonly SourceFile[]): readonly Violation[] {
  const modules = destinationModules(files);
  const units = modules.flatMap((file) => destinationUnits(file));
  const named = new Map<string, Unit[]>();
  for (const unit of units) named.set(unit.name, [...(named.get(unit.name) ?? []), unit]);
  const reached = new Set(units.filter(({ path, isModule }) => isModule || isDestination(path, files)));
  for (const unit of reached) {
    for (const { name, isOwn, isMember } of unit.references) {
      if (name === sweeping && sweepers.includes(`${unit.owner}.${unit.name}`)) continue;
      // A name by itself is that of a function or of a class, and never that of a method.
      const all = (named.get(name) ?? []).filter(({ owner }) => isMember || owner === null || owner === name);
      const own = all.filter(({ owner, path }) => isOwn && owner === unit.owner && path === unit.path);
      for (const next of own.length > 0 ? own : all) reached.add(next);
    }
  }
  const strangers = modules.flatMap((file) =>
    importsOf(file)
      .filter(({ target, typeOnly }) => !typeOnly && !target.startsWith("src/") && !knownModules.includes(target))
      .map(({ target, line }) => `${file.path}:${line} imports ${target}, whose outside writes nobody looks for`),
  );
  return [...strangers, ...[...reached].flatMap(violationsOf)];
}

function violationsOf({ path, writes }: Unit): readonly Violation[] {
  return writes.map(({ line, what }) => `${path}:${line} ${what}`);
}

const transports = "src/engine/transports/";

/** The modules of destinations, and what those import of the transports. */
export function destinationModules(files: readonly SourceFile[]): readonly SourceFile[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const found = new Set(files.filter(({ path }) => isDestination(path, files)));
  for (const file of found) {
    for (const { target, typeOnly } of importsOf(file)) {
      const imported = byPath.get(target);
      const isGuard = target === `${transports}guarded-write.ts`;
      if (imported !== undefined && !typeOnly && !isGuard && target.startsWith(transports)) found.add(imported);
    }
  }
  return [...found];
}

function isDestination(path: string, files: readonly SourceFile[]): boolean {
  if (!path.startsWith("src/") || path.endsWith(".test.ts")) return false;
  if (path.startsWith(transports) && path.endsWith("-destination.ts")) return true;
  const text = files.find((file) => file.path === path)?.text ?? "";
  return /\bimplements\b[^{]*\bDestination\b/.test(text);
}
