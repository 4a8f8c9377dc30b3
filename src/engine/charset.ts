import iconv from "iconv-lite";
import { HoldfastError } from "../errors.js";
import { type Charset, utf8 } from "./core/hl7/charset.js";
import { iso2022Jp } from "./iso2022-jp.js";

/**
 * The charsets that MSH-18 names (table 0211), those that are written there without being in the table, and how they are
 * spelt. UTF-16 and UTF-32 are missing on purpose: no separator of such a message can be found by its byte.
 */
const encodings: Readonly<Record<string, string>> = {
  ASCII: "ascii",
  USASCII: "ascii",
  ISOIR6: "ascii",
  UNICODE: "utf8",
  UNICODEUTF8: "utf8",
  UTF8: "utf8",
  LATIN1: "iso88591",
  ISOIR100: "iso88591",
  ISOIR101: "iso88592",
  ISOIR109: "iso88593",
  ISOIR110: "iso88594",
  ISOIR144: "iso88595",
  ISOIR127: "iso88596",
  ISOIR126: "iso88597",
  ISOIR138: "iso88598",
  ISOIR148: "iso88599",
  GB180302000: "gb18030",
  GB18030: "gb18030",
  GBK: "gbk",
  GB2312: "gbk",
  BIG5: "big5",
  KSX1001: "euckr",
  EUCKR: "euckr",
  ISOIR14: "shiftjis",
  SHIFTJIS: "shiftjis",
  SJIS: "shiftjis",
  MS932: "shiftjis",
  CP932: "shiftjis",
  WINDOWS31J: "shiftjis",
  EUCJP: "eucjp",
  ISOIR87: iso2022Jp.name,
  ISOIR159: iso2022Jp.name,
  ISO2022JP: iso2022Jp.name,
};

/** Where a character of two bytes may hold the byte of a separator in its second: the ranges of its first. */
const leadingBytes: Readonly<Record<string, (byte: number) => boolean>> = {
  gb18030: (byte) => byte >= 0x81 && byte <= 0xfe,
  gbk: (byte) => byte >= 0x81 && byte <= 0xfe,
  big5: (byte) => byte >= 0x81 && byte <= 0xfe,
  shiftjis: (byte) => (byte >= 0x81 && byte <= 0x9f) || (byte >= 0xe0 && byte <= 0xfc),
};

const made = new Map<string, Charset>([
  ["utf8", utf8],
  [iso2022Jp.name, iso2022Jp],
]);

/**
 * The charset for what MSH-18 says. Where that is empty it is the one that is assumed, UTF-8 by default, of which ASCII is a part;
 * and so it is where nobody knows the name, which the charset then carries (`standsInFor`). Never throws.
 */
export function charsetOf(declared: string, assumed = "UTF-8"): Charset {
  const fallback = charsetDeclared(assumed) ?? utf8;
  if (declared === "") return fallback;
  return charsetDeclared(declared) ?? { ...fallback, standsInFor: declared };
}

/** By its name as MSH-18 has it ("8859/1", "UNICODE UTF-8") or as people write it ("ISO-8859-1", "windows-1252"). */
export function charsetNamed(name: string): Charset {
  const charset = charsetDeclared(name);
  if (charset !== null) return charset;
  throw new HoldfastError(
    "BAD_SETTINGS",
    `${JSON.stringify(name)} names no charset; use UTF-8, ASCII, 8859/1 to 8859/16, windows-1252 or another of table 0211.`,
  );
}

function charsetDeclared(declared: string): Charset | null {
  const known = knownNames.get(declared);
  if (known !== undefined) return known;
  // Senders may write anything there, so what is remembered has bounds.
  if (declared.length > longestName) return null;
  const charset = charsetSpelt(declared);
  if (knownNames.size >= mostKnownNames) knownNames.clear();
  knownNames.set(declared, charset);
  return charset;
}

const knownNames = new Map<string, Charset | null>();
const mostKnownNames = 200;
const longestName = 200;

/** Of several the first counts, unless another brings in Japanese: its characters announce themselves. */
function charsetSpelt(declared: string): Charset | null {
  const [first = "", ...others] = declared.split("~").map(encodingOf);
  if (others.includes(iso2022Jp.name) && (first === "" || first === "ascii")) return iso2022Jp;
  return first === null || first === "" ? null : charsetMade(first);
}

function encodingOf(name: string): string | null {
  const plain = name.toUpperCase().replaceAll(/[^A-Z0-9]/g, "");
  if (plain === "") return "";
  const [, part] = /^(?:ISO)?8859(\d{1,2})$/.exec(plain) ?? [];
  const [, page] = /^(?:WINDOWS|WIN|CP)(125[0-8]|874)$/.exec(plain) ?? [];
  const encoding =
    (Object.hasOwn(encodings, plain) && encodings[plain]) ||
    (part && `iso8859${Number(part)}`) ||
    (page && `win${page}`);
  if (!encoding) return null;
  return made.has(encoding) || iconv.encodingExists(encoding) ? encoding : null;
}

function charsetMade(encoding: string): Charset {
  const known = made.get(encoding);
  if (known !== undefined) return known;
  const leads = leadingBytes[encoding];
  const charset: Charset = {
    name: shownName(encoding),
    decode: (bytes) => iconv.decode(bytes, encoding, { stripBOM: false }),
    encode: (text) => iconv.encode(text, encoding),
    ...(leads === undefined ? {} : { shield: (bytes) => shieldPairs(bytes, leads) }),
  };
  made.set(encoding, charset);
  return charset;
}

function shownName(encoding: string): string {
  return encoding
    .replace(/^iso8859(\d+)$/, "8859/$1")
    .replace(/^win(\d+)$/, "windows-$1")
    .replace("ascii", "ASCII");
}

const blot = 0x80;
const firstTrailingByte = 0x40;

function shieldPairs(bytes: Uint8Array, isLeading: (byte: number) => boolean): Uint8Array {
  const shielded = Uint8Array.from(bytes);
  for (let at = 0; at + 1 < shielded.length; at++) {
    if (!isLeading(shielded[at] ?? 0) || (shielded[at + 1] ?? 0) < firstTrailingByte) continue;
    shielded.fill(blot, at, at + 2);
    at++;
  }
  return shielded;
}
