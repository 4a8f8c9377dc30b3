/** The bytes of a body as text, by the charset that its content type names. */
export interface Decoded {
  readonly text: string;
  readonly charset: string;
  /** Whether every byte is in the text as it was: only then may it be edited and sent again. */
  readonly exact: boolean;
}

/** `text/plain; charset=utf-8` and the like; null where the type says that it is no text, or nothing. */
export function charsetOf(contentType: string | null): string | null {
  if (contentType === null || /^application\/octet-stream\b/i.test(contentType)) return null;
  return /;\s*charset="?([\w:.-]+)"?/i.exec(contentType)?.[1]?.toLowerCase() ?? "utf-8";
}

/** `whole`: false where more bytes follow, of which the last character may have lost its half. Never throws. */
export function decode(bytes: Uint8Array, charset: string, whole = true): Decoded {
  // Browsers take these two for windows-1252, which has other characters from 0x80 to 0x9F.
  if (charset === "iso-8859-1" || charset === "us-ascii") return { text: latin1(bytes), charset, exact: whole };
  const stream = { stream: !whole };
  const decoder = decoderOf(charset);
  if (decoder === null) return { text: latin1(bytes), charset: "iso-8859-1", exact: false };
  try {
    return { text: decoder.decode(bytes, stream), charset, exact: whole };
  } catch {
    const lenient = new TextDecoder(charset, { ignoreBOM: true });
    return { text: lenient.decode(bytes, stream), charset, exact: false };
  }
}

function decoderOf(charset: string): TextDecoder | null {
  try {
    return new TextDecoder(charset, { fatal: true, ignoreBOM: true });
  } catch {
    return null;
  }
}

function latin1(bytes: Uint8Array): string {
  const slice = 8_192;
  let text = "";
  for (let at = 0; at < bytes.length; at += slice) text += String.fromCharCode(...bytes.subarray(at, at + slice));
  return text;
}

export function bytesOfBase64(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
}

export function base64OfBytes(bytes: Uint8Array): string {
  return btoa(latin1(bytes));
}
