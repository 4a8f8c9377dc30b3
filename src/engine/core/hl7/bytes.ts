export const carriageReturn = 0x0d;
export const lineFeed = 0x0a;

export const noBytes = new Uint8Array(0);

export function joined(parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** The bytes of a text that is known to be ASCII: names, numbers, separators. */
export function asciiBytes(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < bytes.length; at++) bytes[at] = text.charCodeAt(at);
  return bytes;
}

const longestCall = 8192;
/** Up to here a character at a time is faster than a call for all of them. */
export const longestShort = 24;

/** One character a byte, whatever the charset: nothing is lost, and no two differ that were the same. */
export function byteText(bytes: Uint8Array): string {
  let text = "";
  if (bytes.length <= longestShort) {
    for (let at = 0; at < bytes.length; at++) text += String.fromCharCode(bytes[at] ?? 0);
    return text;
  }
  for (let from = 0; from < bytes.length; from += longestCall) {
    text += String.fromCharCode(...bytes.subarray(from, from + longestCall));
  }
  return text;
}

export function beginsWith(bytes: Uint8Array, word: string, at = 0): boolean {
  if (bytes.length - at < word.length) return false;
  for (let place = 0; place < word.length; place++) {
    if (bytes[at + place] !== word.charCodeAt(place)) return false;
  }
  return true;
}

export function sameBytes(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length) return false;
  for (let place = 0; place < one.length; place++) if (one[place] !== other[place]) return false;
  return true;
}
