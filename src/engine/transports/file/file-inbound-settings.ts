import { isAbsolute, resolve } from "node:path";
import { Fields } from "../setting-fields.js";
import type { Checked } from "../transport.js";
import { type PollingOptions, type PollingSettings, pollingFields, readPolling } from "./folder-settings.js";

/** A folder that files are taken from, as a config module writes it. */
export interface FileInboundOptions extends PollingOptions {
  readonly kind: "file";
  /** An absolute path: it is the same on every node. */
  readonly folder: string;
}

/** Its folders by absolute paths. */
export interface FileInboundSettings extends PollingSettings {
  readonly kind: "file";
  readonly folder: string;
}

export function checkFileInbound(given: unknown, where: string): Checked<FileInboundSettings> {
  const fields = new Fields(given, where, ["kind", "folder", ...pollingFields]);
  const folder = absolute(fields);
  const polling = readPolling(fields);
  const archive = resolve(folder, polling.archive);
  const errors = resolve(folder, polling.errors);
  if (folder !== "") {
    if (archive === folder) fields.bad("archive", "another folder than the one that is polled");
    if (errors === folder) fields.bad("errors", "another folder than the one that is polled");
  }
  return fields.checked({ ...polling, kind: "file", folder, archive, errors });
}

export function absolute(fields: Fields): string {
  const mustBe = "an absolute path, which is the same on every node";
  const folder = fields.text("folder", null, mustBe);
  if (folder === "" || isAbsolute(folder)) return folder === "" ? "" : resolve(folder);
  fields.bad("folder", mustBe);
  return "";
}
