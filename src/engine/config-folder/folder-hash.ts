import { createHash } from "node:crypto";
import { relative, sep } from "node:path";

/** A file as it was read for a bundle. */
export interface ReadFile {
  readonly path: string;
  readonly content: Uint8Array;
}

/**
 * The same on every machine whose folder says the same: over the place of each file within the folder, and its content.
 * Packages count by their own names, since where they are installed differs from machine to machine.
 */
export function folderHash(root: string, files: readonly ReadFile[]): string {
  const lines = files.map(({ path, content }) => {
    const digest = createHash("sha256").update(content).digest("hex");
    return `${JSON.stringify(placeOf(root, path))} ${digest}\n`;
  });
  return createHash("sha256").update(lines.sort().join("")).digest("hex");
}

function placeOf(root: string, path: string): string {
  const steps = path.split(sep);
  const packages = steps.lastIndexOf("node_modules");
  return packages === -1 ? relative(root, path).split(sep).join("/") : `npm:${steps.slice(packages + 1).join("/")}`;
}
