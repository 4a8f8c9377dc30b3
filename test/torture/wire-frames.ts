const commandComplete = "C".charCodeAt(0);
const headerBytes = 5;

/**
 * The commands that a PostgreSQL server says it has completed, out of the bytes that it sends, however they were cut into packets.
 * Of a message it keeps only its head, and the body of those that matter.
 */
export class CommandCompletions {
  private head = Buffer.alloc(0);
  /** What is left of the body that is being read. */
  private missing = 0;
  private body: Buffer[] | null = null;

  /** The tags of all that was completed in these bytes: "COMMIT", "INSERT 0 1". */
  take(bytes: Buffer): readonly string[] {
    const tags: string[] = [];
    let rest = bytes;
    while (rest.length > 0) {
      if (this.missing > 0) {
        const part = rest.subarray(0, this.missing);
        this.body?.push(part);
        this.missing -= part.length;
        rest = rest.subarray(part.length);
      } else {
        rest = this.readHead(rest);
      }
      if (this.missing === 0 && this.body !== null) {
        tags.push(Buffer.concat(this.body).toString("latin1").replace(/\0$/, ""));
        this.body = null;
      }
    }
    return tags;
  }

  private readHead(bytes: Buffer): Buffer {
    const needed = headerBytes - this.head.length;
    this.head = Buffer.concat([this.head, bytes.subarray(0, needed)]);
    if (this.head.length === headerBytes) {
      this.missing = this.head.readUInt32BE(1) - 4;
      this.body = this.head[0] === commandComplete ? [] : null;
      this.head = Buffer.alloc(0);
    }
    return bytes.subarray(needed);
  }
}
