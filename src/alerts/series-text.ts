import { isNeeded, type NeededSeries } from "./core/needed-series.js";

/** Series by their names, as Prometheus' text format writes them. */
export type Series = ReadonlyMap<string, number>;

/** What was read of all nodes' metrics. */
export interface ReadSeries {
  readonly series: Series;
  /** Rules that read more series than can be kept, and a line that says so. What only they read is not in `series`. */
  readonly refused: ReadonlyMap<string, string>;
}

/** A rule, by what it reads. */
interface Reading {
  readonly name: string;
  readonly needed: readonly NeededSeries[];
}

/** So many names are remembered: nodes come and go, and theirs with them. */
const mostNames = 50_000;

/** Reads metrics of nodes, and keeps of them what some rule reads. What it has once looked at it knows. */
export class SeriesReader {
  private readonly rules: readonly Reading[];
  private readonly mostSeries: number;
  private readonly known = new Map<string, readonly Reading[]>();

  /** `mostSeries`: of one rule. Each node holds all of them in memory, of every round that is kept. */
  constructor(rules: readonly Reading[], mostSeries: number) {
    this.rules = rules;
    this.mostSeries = mostSeries;
  }

  /** Each series with its node as a label. */
  read(nodes: readonly { readonly nodeId: string; readonly text: string }[]): ReadSeries {
    const found = new Map<string, number>();
    const counts = new Map<Reading, number>();
    for (const { nodeId, text } of nodes) {
      const label = `node="${nodeId.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`;
      for (const line of text.split("\n")) {
        const sample = sampleOf(line);
        if (sample === null) continue;
        const name = withLabel(sample.name, label);
        const readers = this.readersOf(name);
        if (readers.length === 0) continue;
        if (!found.has(name)) for (const reader of readers) counts.set(reader, (counts.get(reader) ?? 0) + 1);
        found.set(name, sample.value);
      }
    }
    return this.kept(found, counts);
  }

  private kept(found: Series, counts: ReadonlyMap<Reading, number>): ReadSeries {
    const tooMany = [...counts].filter(([, count]) => count > this.mostSeries);
    if (tooMany.length === 0) return { series: found, refused: new Map() };
    const refused = new Map(
      tooMany.map(([{ name }, count]) => [name, `it reads ${count} series; the limit is ${this.mostSeries}`]),
    );
    const isKept = ([name]: readonly [string, number]): boolean =>
      this.readersOf(name).some((reader) => !refused.has(reader.name));
    return { series: new Map([...found].filter(isKept)), refused };
  }

  private readersOf(name: string): readonly Reading[] {
    const before = this.known.get(name);
    if (before !== undefined) return before;
    if (this.known.size >= mostNames) this.known.clear();
    const readers = this.rules.filter(({ needed }) => isNeeded(needed, name));
    this.known.set(name, readers);
    return readers;
  }
}

export function writeSeries(series: Series): string {
  return [...series].map(([name, value]) => `${name} ${value}\n`).join("");
}

export function readSeries(text: string): Series {
  const samples = text.split("\n").flatMap((line) => sampleOf(line) ?? []);
  return new Map(samples.map(({ name, value }) => [name, value]));
}

/** A label's value may hold spaces; the sample's own comes after the last. */
function sampleOf(line: string): { readonly name: string; readonly value: number } | null {
  const space = line.lastIndexOf(" ");
  if (space === -1 || line.startsWith("#")) return null;
  const value = numberOf(line.slice(space + 1));
  return value === null ? null : { name: line.slice(0, space), value };
}

const spelt: ReadonlyMap<string, number> = new Map([
  ["nan", Number.NaN],
  ["+inf", Number.POSITIVE_INFINITY],
  ["inf", Number.POSITIVE_INFINITY],
  ["infinity", Number.POSITIVE_INFINITY],
  ["-inf", Number.NEGATIVE_INFINITY],
  ["-infinity", Number.NEGATIVE_INFINITY],
]);

function numberOf(text: string): number | null {
  const named = spelt.get(text.toLowerCase());
  if (named !== undefined) return named;
  const value = Number(text);
  return text === "" || Number.isNaN(value) ? null : value;
}

function withLabel(name: string, label: string): string {
  const brace = name.indexOf("{");
  if (brace === -1) return `${name}{${label}}`;
  const rest = name.slice(brace + 1);
  return `${name.slice(0, brace + 1)}${label}${rest.startsWith("}") ? "" : ","}${rest}`;
}
