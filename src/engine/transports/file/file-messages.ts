import { createHash } from "node:crypto";
import { readBatch } from "../../core/hl7/batch.js";
import type { Arrival } from "../transport.js";
import type { FolderEntry } from "./folder.js";

export interface FileMessages {
  readonly arrivals: readonly Arrival[];
  /** What is odd about the file; its messages are there all the same. */
  readonly problems: readonly string[];
}

/**
 * The messages of a file, each with a key by which it is known again: a leader that ends between the commit and the move leaves
 * the file where it is, and the next one takes it once more. The content is part of the key, since a file that follows another
 * under its name, as long and within the same second, is not the same.
 */
export function messagesOf(place: string, entry: FolderEntry, body: Buffer, split: "none" | "hl7"): FileMessages {
  const { bodies, problems } = split === "hl7" ? splitHl7(body) : { bodies: [body], problems: [] };
  const path = `${place}/${entry.name}`;
  const digest = createHash("sha256");
  digest.update(`${path}\0${entry.modified}\0${entry.bytes}\0`).update(body);
  const key = digest.digest("hex");
  const arrivals = bodies.map((one, at) => ({
    body: one,
    peer: path,
    headers: { file_name: entry.name },
    key: bodies.length === 1 ? `file:${key}` : `file:${key}:${at + 1}`,
  }));
  return { arrivals, problems };
}

/** Lines that belong to no message are one too, malformed: nobody should lose them. */
function splitHl7(body: Buffer): { readonly bodies: readonly Buffer[]; readonly problems: readonly string[] } {
  const { parts, problems } = readBatch(body);
  const messages = parts.filter(({ kind }) => kind !== "envelope");
  const bodies = messages.map(({ bytes }) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  return { bodies, problems };
}
