import { Fields } from "../setting-fields.js";
import type { Checked } from "../transport.js";
import { absolute } from "./file-inbound-settings.js";
import {
  readWriting,
  refuseAppending,
  type WritingOptions,
  type WritingSettings,
  writingFields,
} from "./folder-settings.js";

/** A folder that files are put into, as a config module writes it. */
export interface FileOutboundOptions extends WritingOptions {
  readonly kind: "file";
  /** An absolute path: it is the same on every node. */
  readonly folder: string;
}

export interface FileOutboundSettings extends WritingSettings {
  readonly kind: "file";
  readonly folder: string;
}

export function checkFileOutbound(given: unknown, where: string): Checked<FileOutboundSettings> {
  const fields = new Fields(given, where, ["kind", "folder", "append", "mode", ...writingFields]);
  refuseAppending(given, fields);
  return fields.checked({ ...readWriting(fields), kind: "file", folder: absolute(fields) });
}
