import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { HoldfastError } from "../../errors.js";
import { cut } from "../../queue/core/failure-reason.js";
import { jobLimits } from "../new-job.js";
import type { Operation, Operations } from "./operation.js";

const modulePattern = /\.(?:js|mjs|cjs)$/;

/**
 * The operations of a folder: one module each, whose default export it is. `resize.js` is "resize", `images/resize.js` is
 * "images/resize". Files and folders that begin with "." or "_" are the modules' own, and so is `node_modules`.
 */
export async function loadOperations(folder: string): Promise<Operations> {
  const files = await modulesIn(folder, "");
  if (files.length === 0) {
    throw bad(folder, "there is no operation: each is a .js or .mjs file with a function as its default export.");
  }
  const operations = new Map<string, Operation>();
  for (const file of files) {
    const name = file.replace(modulePattern, "");
    if (!jobLimits.name.test(name)) throw bad(folder, `"${file}" cannot be the name of an operation: rename it.`);
    if (operations.has(name)) throw bad(folder, `two files are the operation "${name}": rename one.`);
    operations.set(name, await loadOperation(folder, file));
  }
  return Object.fromEntries(operations);
}

async function modulesIn(folder: string, within: string): Promise<readonly string[]> {
  const entries = await readdir(join(folder, within), { withFileTypes: true }).catch((error: unknown) => {
    throw bad(folder, `the folder cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)}).`);
  });
  const found: string[] = [];
  for (const entry of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    if (/^[._]/.test(entry.name) || entry.name === "node_modules") continue;
    const path = `${within}${entry.name}`;
    if (entry.isDirectory()) found.push(...(await modulesIn(folder, `${path}/`)));
    else if (modulePattern.test(entry.name)) found.push(path);
  }
  return found;
}

async function loadOperation(folder: string, file: string): Promise<Operation> {
  let loaded: { readonly default?: unknown };
  try {
    loaded = (await import(pathToFileURL(join(folder, file)).href)) as { readonly default?: unknown };
  } catch (error) {
    const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    throw new HoldfastError("BAD_SETTINGS", `The operation ${file} cannot be loaded: ${cut(reason)}`, { cause: error });
  }
  if (typeof loaded.default !== "function") {
    throw new HoldfastError("BAD_SETTINGS", `The operation ${file} has no function as its default export.`);
  }
  return loaded.default as Operation;
}

function bad(folder: string, message: string): HoldfastError {
  return new HoldfastError("BAD_SETTINGS", `The operations of ${folder}: ${message}`);
}
