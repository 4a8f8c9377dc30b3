import type pg from "pg";
import type { OutsideValue } from "../outside-contract.js";

/** The types that JSON has a form for, by their numbers, which never change. */
const oid = { bool: 16, bytea: 17, int2: 21, int4: 23, json: 114, float4: 700, float8: 701, jsonb: 3802 } as const;

/**
 * A value from the text that the server writes. Whole numbers of 64 bits and decimals stay texts: a number of JSON would round
 * them. Times stay as they are written, for only the server knows the zone that it means.
 */
export function outsideValue(text: string | null, { dataTypeID: type }: Pick<pg.FieldDef, "dataTypeID">): OutsideValue {
  if (text === null) return { text: null, json: null, bytes: null };
  if (type === oid.bytea) {
    const bytes = Buffer.from(text.slice(2), "hex");
    return { text, json: bytes.toString("base64"), bytes };
  }
  return { text, json: jsonOf(text, type), bytes: Buffer.from(text) };
}

function jsonOf(text: string, type: number): unknown {
  switch (type) {
    case oid.bool:
      return text === "t";
    case oid.int2:
    case oid.int4:
      return Number(text);
    case oid.float4:
    case oid.float8: {
      const number = Number(text);
      return Number.isFinite(number) ? number : text;
    }
    case oid.json:
    case oid.jsonb:
      return JSON.parse(text) as unknown;
    default:
      return text;
  }
}
