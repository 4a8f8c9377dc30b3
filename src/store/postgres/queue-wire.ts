import type { NewMessage, StoredMessage } from "../queue-contract.js";

/**
 * Messages on their way to and from the database, in the binary format of COPY: bodies are bytes, and as text they would be
 * written twice as long, sent, and read again.
 */

/** What the format begins with: its name, and two integers that are 0. */
const signature = Buffer.from("PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0", "latin1");

export const messageColumns = "segment, lane, position, epoch, key, headers, body";
/** The number of fields; the lengths of the seven; a segment and three numbers of eight bytes. */
const fixedRowBytes = 2 + 7 * 4 + 4 + 3 * 8;
const noValue = -1;
const endOfRows = -1;

export function packMessages(messages: readonly NewMessage[], segment: number, epoch: bigint): Buffer {
  const headers = messages.map((message) => (message.headers === null ? null : JSON.stringify(message.headers)));
  let size = signature.length + 2;
  // Plain loops: every message that is taken in goes through both.
  for (let index = 0; index < messages.length; index += 1) {
    const { key, body } = messages[index] as NewMessage;
    const text = headers[index] ?? null;
    size += fixedRowBytes + body.length;
    if (key !== null) size += Buffer.byteLength(key);
    if (text !== null) size += 1 + Buffer.byteLength(text);
  }
  const packed = Buffer.allocUnsafe(size);
  let at = signature.copy(packed);
  for (let index = 0; index < messages.length; index += 1) {
    const { lane, position, key, body } = messages[index] as NewMessage;
    at = packed.writeInt16BE(7, at);
    at = packed.writeInt32BE(4, at);
    at = packed.writeInt32BE(segment, at);
    at = writeLong(packed, lane, at);
    at = writeLong(packed, position, at);
    at = writeLong(packed, Number(epoch), at);
    at = writeText(packed, key, "", at);
    at = writeText(packed, headers[index] ?? null, "\x01", at); // The version of the binary form of jsonb.
    at = packed.writeInt32BE(body.length, at);
    at += body.copy(packed, at);
  }
  packed.writeInt16BE(endOfRows, at);
  return packed;
}

/** An integer below 2^53 in eight bytes; a `BigInt` for each would take longer than all the rest. */
function writeLong(buffer: Buffer, value: number, at: number): number {
  const lengthEnd = buffer.writeInt32BE(8, at);
  const highEnd = buffer.writeInt32BE(Math.floor(value / 2 ** 32), lengthEnd);
  return buffer.writeUInt32BE(value >>> 0, highEnd);
}

function writeText(buffer: Buffer, text: string | null, prefix: string, at: number): number {
  if (text === null) return buffer.writeInt32BE(noValue, at);
  const length = buffer.write(prefix + text, at + 4);
  buffer.writeInt32BE(length, at);
  return at + 4 + length;
}

/** A lane's share of a claim, as the statement `claim` describes it. */
type ClaimedLane = readonly [
  first: number,
  lengths: readonly number[],
  segments: readonly number[],
  ats: readonly number[],
  tags: readonly (readonly [key: string | null, headers: Readonly<Record<string, string>> | null])[] | null,
  now: number,
];

/** The rows of a claim: the lane, what is known of its messages, and their bodies one after another. */
export function readClaimed(rows: readonly Buffer[]): readonly StoredMessage[] {
  return rows.flatMap((row, index) => {
    // The first row comes with the beginning of the format, and its end as one more.
    let at = index === 0 ? signature.length : 0;
    if (row.readInt16BE(at) === endOfRows) return [];
    at += 2;
    const lane = Number(row.readBigInt64BE(at + 4));
    at += 12;
    const describedAt = at + 4;
    at = describedAt + row.readInt32BE(at);
    const described = JSON.parse(row.toString("utf8", describedAt, at)) as ClaimedLane;
    return messagesOf(lane, described, row.subarray(at + 4));
  });
}

function messagesOf(lane: number, described: ClaimedLane, bodies: Buffer): readonly StoredMessage[] {
  const [first, lengths, segments, ats, tags, now] = described;
  let end = 0;
  return lengths.map((length, index) => {
    const start = end;
    end += length;
    const [key, headers] = tags?.[index] ?? [null, null];
    const [segment = 0, at = 0] = [segments[index], ats[index]];
    const ageMs = Math.max(0, now - at);
    return { lane, position: first + index, segment, key, headers, at, ageMs, body: bodies.subarray(start, end) };
  });
}
