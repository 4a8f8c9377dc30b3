import { FolderDestination } from "../file/folder-destination.js";
import type { DestinationParts } from "../transport.js";
import { SftpOutbox } from "./sftp-outbox.js";
import type { SftpOutboundSettings } from "./sftp-settings.js";

/** Puts each message into a file of its own, in a folder of an SFTP server. */
export function createSftpDestination(parts: DestinationParts<SftpOutboundSettings>): FolderDestination {
  return new FolderDestination(parts, new SftpOutbox(parts.settings, parts.clock, `Outbound "${parts.name}"`));
}
