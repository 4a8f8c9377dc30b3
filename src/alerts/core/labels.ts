/** The labels of a series by name, sorted; the metric's name among them as `__name__`. No value is empty. */
export type Labels = ReadonlyMap<string, string>;

export const metricName = "__name__";

export const noLabels: Labels = new Map();

export function labelsOf(entries: Iterable<readonly [string, string]>): Labels {
  const given = new Map(entries);
  const kept = [...given].filter(([, value]) => value !== "");
  return new Map(kept.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}

/** The same text for the same labels. */
export function keyOf(labels: Labels): string {
  return JSON.stringify([...labels].flat());
}

export function without(labels: Labels, names: readonly string[]): Labels {
  return new Map([...labels].filter(([name]) => !names.includes(name)));
}

export function only(labels: Labels, names: readonly string[]): Labels {
  return new Map([...labels].filter(([name]) => names.includes(name)));
}

export const withoutName = (labels: Labels): Labels => without(labels, [metricName]);

/** Reads the name of a series as Prometheus' text format has it; null where it is none. */
export function parseSeries(series: string): Labels | null {
  const [head, name] = /^([a-zA-Z_:][a-zA-Z0-9_:]*)/.exec(series) ?? [];
  if (head === undefined || name === undefined) return null;
  const entries: [string, string][] = [[metricName, name]];
  const braces = series.slice(head.length).trim();
  if (braces === "") return labelsOf(entries);
  if (!braces.startsWith("{") || !braces.endsWith("}")) return null;
  const label = /\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)/sy;
  const inner = braces.slice(1, -1).trimEnd();
  while (label.lastIndex < inner.length) {
    const [, key, value] = label.exec(inner) ?? [];
    if (key === undefined || value === undefined) return null;
    entries.push([key, unescaped(value)]);
  }
  return labelsOf(entries);
}

function unescaped(value: string): string {
  return value.replaceAll(/\\(.)/gs, (_, character: string) => (character === "n" ? "\n" : character));
}

/** As Prometheus writes it. */
export function writeSeries(labels: Labels): string {
  const pairs = [...withoutName(labels)].map(([name, value]) => `${name}="${escaped(value)}"`);
  const name = labels.get(metricName) ?? "";
  return pairs.length === 0 && name !== "" ? name : `${name}{${pairs.join(", ")}}`;
}

function escaped(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
