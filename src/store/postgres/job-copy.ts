import type { Submission } from "../job-orders.js";
import { storable } from "./literal.js";

/** Jobs on their way to the database in the binary format of COPY: many at a time, and nothing of them is parsed twice. */

/** What the format begins with: its name, and two integers that are 0. */
const signature = Buffer.from("PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0", "latin1");

export const copiedColumns = "job_id, demand, priority, max_attempts, leader_epoch, timeout_ms, namespace, op, payload";
/** The number of fields; the lengths of the nine; two integers of four bytes, one of two, two of eight. */
const fixedRowBytes = 2 + 9 * 4 + 4 + 2 + 4 + 8 + 8;
const endOfRows = -1;
/** Fewer are as soon told in words, which saves a round trip. */
const fewest = 32;

/**
 * Whether these can be copied in. COPY takes all or none, so nothing among them may be there already; and what has to wait is
 * told apart by the database's clock.
 */
export function areCopied(submissions: readonly Submission[]): boolean {
  return submissions.length >= fewest && submissions.every(isPlain);
}

function isPlain({ hasNewId, runAt, idempotencyKey, cron }: Submission): boolean {
  return hasNewId === true && runAt === null && idempotencyKey === null && cron === null;
}

/** Jobs that are copied in, and what the database is told of them. */
export interface CopiedJobs {
  readonly number: number;
  readonly copyIn: Buffer;
  /** What their events say, in columns. */
  readonly told: string;
  /** The demands that they were packed with. */
  readonly demandIds: readonly number[];
}

/** `places`: which of the demands is that of each, counted from 1. */
export function packJobs(
  submissions: readonly Submission[],
  places: readonly number[],
  demandIds: readonly number[],
  epoch: bigint,
): CopiedJobs {
  const ids = submissions.map(({ jobId }) => storable(jobId));
  const ops = submissions.map(({ op }) => storable(op));
  const namespaces = submissions.map(({ namespace }) => storable(namespace));
  const payloads = submissions.map(({ payload }) => JSON.stringify(payload));
  let size = signature.length + 2 + submissions.length * fixedRowBytes;
  for (const texts of [ids, ops, namespaces, payloads]) for (const text of texts) size += Buffer.byteLength(text);
  const packed = Buffer.allocUnsafe(size);
  let at = signature.copy(packed);
  for (const [index, { priority, maxAttempts, timeoutMs }] of submissions.entries()) {
    at = packed.writeInt16BE(9, at);
    at = writeText(packed, ids[index] as string, at);
    at = writeInteger(packed, demandIds[(places[index] as number) - 1] as number, at);
    at = packed.writeInt16BE(priority, packed.writeInt32BE(2, at));
    at = writeInteger(packed, maxAttempts, at);
    at = writeLong(packed, Number(epoch), at);
    at = writeLong(packed, Math.ceil(timeoutMs), at);
    at = writeText(packed, namespaces[index] as string, at);
    at = writeText(packed, ops[index] as string, at);
    at = writeText(packed, payloads[index] as string, at);
  }
  packed.writeInt16BE(endOfRows, at);
  const told = JSON.stringify([ids, sameOrEach(ops), sameOrEach(namespaces), "queued", 0, null]);
  return { number: submissions.length, copyIn: packed, told, demandIds };
}

/** One value where all have the same. */
function sameOrEach(names: readonly string[]): string | readonly string[] | undefined {
  return names.every((name) => name === names[0]) ? names[0] : names;
}

function writeInteger(buffer: Buffer, value: number, at: number): number {
  return buffer.writeInt32BE(value, buffer.writeInt32BE(4, at));
}

/** An integer below 2^53 in eight bytes. */
function writeLong(buffer: Buffer, value: number, at: number): number {
  const lengthEnd = buffer.writeInt32BE(8, at);
  const highEnd = buffer.writeInt32BE(Math.floor(value / 2 ** 32), lengthEnd);
  return buffer.writeUInt32BE(value >>> 0, highEnd);
}

function writeText(buffer: Buffer, text: string, at: number): number {
  const length = buffer.write(text, at + 4);
  buffer.writeInt32BE(length, at);
  return at + 4 + length;
}
