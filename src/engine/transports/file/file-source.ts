import type { SourceParts } from "../transport.js";
import type { FileInboundSettings } from "./file-inbound-settings.js";
import { FolderSource } from "./folder-source.js";
import { LocalFolder } from "./local-folder.js";

/** Takes files from a folder of this machine. */
export function createFileSource(parts: SourceParts<FileInboundSettings>): FolderSource {
  return new FolderSource(parts, new LocalFolder(parts.settings, parts.clock, `Inbound "${parts.name}"`));
}
