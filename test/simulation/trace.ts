/**
 * What happened, in order. Always as a hash, so that two runs can be compared; as text only where somebody reads it, which
 * is when a failing seed is run again.
 */
export class Trace {
  private hash = 0x811c9dc5;
  private readonly codes = new Map<string, number>();
  private readonly lines: string[] | null;

  constructor(keepsText: boolean) {
    this.lines = keepsText ? [] : null;
  }

  /** `who` is a node's index, -1 for the database, -2 for the world. */
  note(time: number, who: number, what: string, detail: unknown): void {
    let hash = this.hash;
    hash = Math.imul(hash ^ (Math.floor(time * 1024) | 0), 0x01000193);
    hash = Math.imul(hash ^ who, 0x01000193);
    hash = Math.imul(hash ^ this.codeOf(what), 0x01000193);
    this.hash = hash;
    if (this.lines !== null)
      this.lines.push(`${time.toFixed(3).padStart(10)}  ${nameOf(who)}  ${what} ${format(detail)}`);
  }

  digest(): string {
    return (this.hash >>> 0).toString(16).padStart(8, "0");
  }

  last(count: number): readonly string[] {
    return this.lines?.slice(-count) ?? [];
  }

  private codeOf(what: string): number {
    const known = this.codes.get(what);
    if (known !== undefined) return known;
    let code = 0x811c9dc5;
    for (let i = 0; i < what.length; i++) code = Math.imul(code ^ what.charCodeAt(i), 0x01000193);
    this.codes.set(what, code);
    return code;
  }
}

function nameOf(who: number): string {
  return who >= 0 ? `n${who}` : who === -1 ? "db" : "--";
}

function format(detail: unknown): string {
  if (detail === null || detail === undefined) return "";
  if (typeof detail === "string") return detail;
  return JSON.stringify(detail, (_key, value: unknown) =>
    typeof value === "bigint" ? String(value) : typeof value === "number" ? Math.round(value * 1000) / 1000 : value,
  );
}
