/** Bytes as people who look at bytes expect them: where, which, and what of them can be printed. */
export interface HexRow {
  readonly offset: string;
  readonly hex: string;
  readonly text: string;
}

const width = 16;

export function hexDump(bytes: Uint8Array, mostRows = 1_024): HexRow[] {
  const rows: HexRow[] = [];
  for (let at = 0; at < bytes.length && rows.length < mostRows; at += width) {
    const row = [...bytes.subarray(at, at + width)];
    const pairs = row.map((byte) => byte.toString(16).padStart(2, "0"));
    const halves = [pairs.slice(0, width / 2).join(" "), pairs.slice(width / 2).join(" ")];
    rows.push({
      offset: at.toString(16).padStart(8, "0"),
      hex: halves.join("  ").trimEnd(),
      text: row.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".")).join(""),
    });
  }
  return rows;
}
