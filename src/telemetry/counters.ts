/** A family of metrics that only ever grow: counters, and what histograms count. */
interface CounterFamily {
  readonly type: string;
  readonly help: string;
  /** By the sample as it is written, with its labels. */
  readonly samples: Map<string, number>;
}

/** What a process has counted since its start, by family; or many of them together. */
export type Counters = ReadonlyMap<string, CounterFamily>;

/** Reads what grows from Prometheus' text format. Gauges and summaries are passed over: their sums would mean nothing. */
export function readCounters(text: string): Counters {
  const families = new Map<string, CounterFamily>();
  const heads = new Map<string, { help: string; type: string }>();
  let name = "";
  for (const line of text.split("\n")) {
    const comment = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line);
    if (comment !== null) {
      const [, kind, family = "", rest = ""] = comment;
      const head = heads.get(family) ?? { help: "", type: "" };
      heads.set(family, kind === "HELP" ? { ...head, help: rest } : { ...head, type: rest });
      name = family;
    } else if (line !== "" && !line.startsWith("#")) {
      addSample(families, name, heads.get(name), line);
    }
  }
  return families;
}

function addSample(
  families: Map<string, CounterFamily>,
  name: string,
  head: { readonly help: string; readonly type: string } | undefined,
  line: string,
): void {
  if (head?.type !== "counter" && head?.type !== "histogram") return;
  // A label's value may hold spaces; the sample's own comes after the last.
  const space = line.lastIndexOf(" ");
  const value = Number(line.slice(space + 1));
  if (space === -1 || !Number.isFinite(value)) return;
  const family = families.get(name) ?? { ...head, samples: new Map<string, number>() };
  families.set(name, family);
  family.samples.set(line.slice(0, space), value);
}

/** The higher of the two in each sample: what a process has once counted is not taken back. */
export const raised = (before: Counters, now: Counters): Counters => joined([before, now], (a, b) => Math.max(a, b));

export const summed = (all: Iterable<Counters>): Counters => joined(all, (a, b) => a + b);

function joined(all: Iterable<Counters>, join: (a: number, b: number) => number): Counters {
  const families = new Map<string, CounterFamily>();
  for (const [name, { samples, ...head }] of [...all].flatMap((counters) => [...counters])) {
    const family = families.get(name) ?? { ...head, samples: new Map<string, number>() };
    families.set(name, family);
    for (const [sample, value] of samples) {
      const known = family.samples.get(sample);
      family.samples.set(sample, known === undefined ? value : join(known, value));
    }
  }
  return families;
}

export function writeCounters(counters: Counters): string {
  const texts = [...counters].map(([name, { type, help, samples }]) => {
    const lines = [...samples].map(([sample, value]) => `${sample} ${value}`);
    return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines, ""].join("\n");
  });
  return texts.join("\n");
}

/** As the series of the whole cluster: `<prefix>x` of the nodes is `<prefix>cluster_x` of all of them together. */
export function asClusterTotals(counters: Counters, prefix: string): Counters {
  const renamed = (name: string): string =>
    `${prefix}cluster_${name.startsWith(prefix) ? name.slice(prefix.length) : name}`;
  return new Map(
    [...counters].map(([name, { type, help, samples }]) => [
      renamed(name),
      {
        type,
        help: `All nodes together, also those that are gone: ${help}`,
        samples: new Map([...samples].map(([sample, value]) => [renamed(sample), value])),
      },
    ]),
  );
}
