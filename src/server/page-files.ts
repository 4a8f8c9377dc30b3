import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** One file of the dashboard, as it is sent. */
export interface PageFile {
  readonly type: string;
  readonly bytes: Buffer;
  /** The same, compressed by the build; null where there is none. */
  readonly gzipped: Buffer | null;
}

/** By its path below the folder, with forward slashes. */
export type PageFiles = ReadonlyMap<string, PageFile>;

const typesByEnding: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
};

/** Where the build leaves the page, seen from the sources and from the package alike. */
const built = fileURLToPath(new URL("../../dist/dashboard/", import.meta.url));

let ownFiles: PageFiles | null = null;

/** The dashboard of this package, read once; empty where it was not built. */
export function dashboardFiles(): PageFiles {
  ownFiles ??= readPageFiles(built);
  return ownFiles;
}

/** A request is answered from these and never from the disk, so no path in it can lead anywhere else. */
export function readPageFiles(folder: string): PageFiles {
  if (!existsSync(folder)) return new Map();
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.(gz|map)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
  return new Map(paths.map((path) => [relative(folder, path).split(sep).join("/"), readPageFile(path)]));
}

function readPageFile(path: string): PageFile {
  const compressed = `${path}.gz`;
  return {
    type: typesByEnding[extname(path)] ?? "application/octet-stream",
    bytes: readFileSync(path),
    gzipped: existsSync(compressed) ? readFileSync(compressed) : null,
  };
}
