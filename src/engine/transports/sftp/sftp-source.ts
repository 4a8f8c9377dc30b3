import { FolderSource } from "../file/folder-source.js";
import type { SourceParts } from "../transport.js";
import { SftpFolder } from "./sftp-folder.js";
import type { SftpInboundSettings } from "./sftp-settings.js";

/** Takes files from a folder of an SFTP server. */
export function createSftpSource(parts: SourceParts<SftpInboundSettings>): FolderSource {
  return new FolderSource(parts, new SftpFolder(parts.settings, parts.clock, `Inbound "${parts.name}"`));
}
