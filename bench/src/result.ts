/** One figure. The names are what scripts look for, so they do not change. */
export interface Result {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** A comparison like "<= 25", or "reported" where there is nothing to reach. */
  readonly target: string;
  readonly met: boolean;
  /** What the value is compared with, or whose it is if it is not ours. */
  readonly peer?: string;
}

export function judged(name: string, value: number, unit: string, target: string, peer?: string): Result {
  const rounded = roundTo(value, 4);
  return { name, value: rounded, unit, target, met: meets(rounded, target), ...(peer === undefined ? {} : { peer }) };
}

export function reported(name: string, value: number, unit: string, peer?: string): Result {
  return judged(name, value, unit, "reported", peer);
}

function meets(value: number, target: string): boolean {
  if (target === "reported") return true;
  const [, sign, limit] = /^(<=|>=) ([\d.]+)$/.exec(target) ?? [];
  if (sign === undefined || limit === undefined) throw new Error(`"${target}" is not a target`);
  return sign === "<=" ? value <= Number(limit) : value >= Number(limit);
}

function roundTo(value: number, digits: number): number {
  return Number(value.toPrecision(digits));
}

export function tableOf(results: readonly Result[]): string {
  const rows = results.map(({ name, value, unit, target, met, peer }) => [
    name,
    String(value),
    unit,
    target,
    target === "reported" ? "" : met ? "yes" : "NO",
    peer ?? "",
  ]);
  const table = [["figure", "value", "unit", "target", "met", "peer"], ...rows];
  const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? [];
  return table
    .map((row) =>
      row
        .map((cell, column) => (column === 1 ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0)))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
