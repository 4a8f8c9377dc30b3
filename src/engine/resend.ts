/**
 * Whether two messages of one control id are the same. A sender that writes the time anew when it sends again (MSH-7) means the
 * same message. One whose counter has begun again does not: what it sends now must not be taken for what it sent then.
 */
export function isResend(first: Buffer, second: Buffer): boolean {
  if (first.equals(second)) return true;
  const [one, other] = [headerEnd(first), headerEnd(second)];
  if (!first.subarray(one).equals(second.subarray(other))) return false;
  return withoutTime(first.subarray(0, one)) === withoutTime(second.subarray(0, other));
}

function headerEnd(body: Buffer): number {
  const end = body.findIndex((byte) => byte === 0x0d || byte === 0x0a);
  return end === -1 ? body.length : end;
}

function withoutTime(header: Buffer): string {
  const text = header.toString("latin1");
  return text
    .split(text.charAt(3))
    .map((field, at) => (at === msh7 ? "" : field))
    .join(text.charAt(3));
}

/** Where it comes when a header is split by its own separator, which is MSH-1. */
const msh7 = 6;
