import {
  type PollingOptions,
  type PollingSettings,
  pollingFields,
  readPolling,
  readWriting,
  refuseAppending,
  type WritingOptions,
  type WritingSettings,
  writingFields,
} from "../file/folder-settings.js";
import { Fields } from "../setting-fields.js";
import type { Checked } from "../transport.js";
import { placeFields, readPlace, type SftpPlace, type SftpPlaceOptions } from "./sftp-place.js";

/** A folder of an SFTP server that files are taken from, as a config module writes it. */
export interface SftpInboundOptions extends SftpPlaceOptions, PollingOptions {
  readonly kind: "sftp";
}

export interface SftpInboundSettings extends SftpPlace, PollingSettings {
  readonly kind: "sftp";
}

/** A folder of an SFTP server that files are put into, as a config module writes it. */
export interface SftpOutboundOptions extends SftpPlaceOptions, WritingOptions {
  readonly kind: "sftp";
}

export interface SftpOutboundSettings extends SftpPlace, WritingSettings {
  readonly kind: "sftp";
}

export function checkSftpInbound(given: unknown, where: string): Checked<SftpInboundSettings> {
  const fields = new Fields(given, where, ["kind", ...placeFields, ...pollingFields]);
  const place = readPlace(fields);
  // A look costs the server more than one of ours costs us.
  const polling = readPolling(fields, "10s");
  const archive = within(place.folder, polling.archive);
  const errors = within(place.folder, polling.errors);
  if (archive === place.folder) fields.bad("archive", "another folder than the one that is polled");
  if (errors === place.folder) fields.bad("errors", "another folder than the one that is polled");
  return fields.checked({ ...place, ...polling, kind: "sftp", archive, errors });
}

export function checkSftpOutbound(given: unknown, where: string): Checked<SftpOutboundSettings> {
  const fields = new Fields(given, where, ["kind", "append", "mode", ...placeFields, ...writingFields]);
  refuseAppending(given, fields);
  return fields.checked({ ...readPlace(fields), ...readWriting(fields), kind: "sftp" });
}

/** A path on the server, which knows no other separator than this. */
function within(folder: string, name: string): string {
  const plain = name.replace(/\/+$/, "").replace(/^(?:\.\/)+/, "");
  if (plain.startsWith("/")) return plain;
  return plain === "" || plain === "." ? folder : `${folder}/${plain}`;
}
