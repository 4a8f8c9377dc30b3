import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { HoldfastError } from "../../errors.js";
import { cut } from "../../queue/core/failure-reason.js";
import { jobLimits } from "../new-job.js";
import type { Operation, Operations } from "./operation.js";

/** How the folder's modules are called when something is wrong with them. */
type ModuleKind = "operation" | "function";
const article = { operation: "an", function: "a" } as const;

const modulePattern = /\.(?:js|mjs|cjs)$/;

/**
 * The operations of a folder: one module each, whose default export it is. `resize.js` is "resize", `images/resize.js` is
 * "images/resize". Files and folders that begin with "." or "_" are the modules' own, and so is `node_modules`.
 */
export async function loadOperations(folder: string, kind: ModuleKind = "operation"): Promise<Operations> {
  const bad = (message: string): HoldfastError => badFolder(folder, kind, message);
  const files = await modulesIn(folder, "", bad);
  if (files.length === 0) {
    throw bad(`there is no ${kind}: each is a .js or .mjs file with a function as its default export.`);
  }
  const operations = new Map<string, Operation>();
  for (const file of files) {
    const name = file.replace(modulePattern, "");
    if (!jobLimits.name.test(name)) throw bad(`"${file}" cannot be the name of ${article[kind]} ${kind}: rename it.`);
    if (operations.has(name)) throw bad(`two files are the ${kind} "${name}": rename one.`);
    operations.set(name, await loadOperation(folder, file, kind));
  }
  return Object.fromEntries(operations);
}

async function modulesIn(
  folder: string,
  within: string,
  bad: (message: string) => HoldfastError,
): Promise<readonly string[]> {
  const entries = await readdir(join(folder, within), { withFileTypes: true }).catch((error: unknown) => {
    throw bad(`the folder cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)}).`);
  });
  const found: string[] = [];
  for (const entry of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    if (/^[._]/.test(entry.name) || entry.name === "node_modules") continue;
    const path = `${within}${entry.name}`;
    if (entry.isDirectory()) found.push(...(await modulesIn(folder, `${path}/`, bad)));
    else if (modulePattern.test(entry.name)) found.push(path);
  }
  return found;
}

async function loadOperation(folder: string, file: string, kind: ModuleKind): Promise<Operation> {
  let loaded: { readonly default?: unknown };
  try {
    loaded = (await import(pathToFileURL(join(folder, file)).href)) as { readonly default?: unknown };
  } catch (error) {
    const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    throw new HoldfastError("BAD_SETTINGS", `The ${kind} ${file} cannot be loaded: ${cut(reason)}`, { cause: error });
  }
  if (typeof loaded.default !== "function") {
    throw new HoldfastError("BAD_SETTINGS", `The ${kind} ${file} has no function as its default export.`);
  }
  return loaded.default as Operation;
}

function badFolder(folder: string, kind: ModuleKind, message: string): HoldfastError {
  return new HoldfastError("BAD_SETTINGS", `The ${kind}s of ${folder}: ${message}`);
}
