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

/** With the bench of each, where several ran. */
export function tableOf(results: readonly (Result & { readonly bench?: string })[]): string {
  const several = results.some(({ bench }) => bench !== undefined);
  const rows = results.map(({ bench = "", name, value, unit, target, met, peer }) => [
    ...(several ? [bench] : []),
    name,
    String(value),
    unit,
    target,
    target === "reported" ? "" : met ? "yes" : "NOT met",
    peer ?? "",
  ]);
  const head = [...(several ? ["bench"] : []), "figure", "value", "unit", "target", "met", "peer"];
  const table = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const numbers = head.indexOf("value");
  return table
    .map((row) =>
      row
        .map((cell, column) =>
          column === numbers ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
        )
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** How many targets there are, and which were missed. */
export function verdictOf(results: readonly Result[]): string {
  const judgedOnes = results.filter(({ target }) => target !== "reported");
  const missed = judgedOnes.filter(({ met }) => !met).map(({ name }) => name);
  const names = missed.length === 0 ? "" : `: ${missed.join(", ")}`;
  return `${judgedOnes.length - missed.length} of ${judgedOnes.length} targets met, ${missed.length} NOT met${names}`;
}
