import type { DestinationParts } from "../transport.js";
import type { FileOutboundSettings } from "./file-outbound-settings.js";
import { FolderDestination } from "./folder-destination.js";
import { LocalOutbox } from "./local-outbox.js";

/** Puts each message into a file of its own, in a folder of this machine. */
export function createFileDestination(parts: DestinationParts<FileOutboundSettings>): FolderDestination {
  return new FolderDestination(parts, new LocalOutbox(parts.settings.folder, parts.clock, `Outbound "${parts.name}"`));
}
