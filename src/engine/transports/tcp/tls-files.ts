import { accessSync, constants } from "node:fs";
import type { Fields } from "../setting-fields.js";

/** Tells of every file that cannot be read, when the settings are checked. They are read when a connection starts. */
export function checkFiles(
  fields: Fields,
  paths: Readonly<Partial<Record<"cert" | "key" | "ca", string | null>>>,
): void {
  for (const name of ["cert", "key", "ca"] as const) {
    const path = paths[name] ?? "";
    if (path === "") continue;
    try {
      accessSync(path, constants.R_OK);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const why = code === "ENOENT" ? "is not there" : `cannot be read (${code})`;
      fields.wrong(`names a file that ${why}: tls.${name} is "${path}".`);
    }
  }
}
