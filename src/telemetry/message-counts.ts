import { countedStatuses } from "./engine-metrics.js";

type Status = (typeof countedStatuses)[number];

/** What has become of the messages of a connection. */
export type MessageCounts = Readonly<Record<Status, number>>;

/** Texts in Prometheus' format. */
interface CountedTexts {
  /** The totals of the cluster. */
  readonly totals: string;
  /** What this process had counted when it was last taken in among them. */
  readonly taken: string;
  /** What it has counted by now. */
  readonly now: string;
}

/** By connection: what all processes have counted that ever were, and what this one has counted since. */
export function messageCounts(prefix: string, texts: CountedTexts): (connection: string) => MessageCounts {
  const totals = samplesOf(`${prefix}cluster_engine_messages_total`, texts.totals);
  const taken = samplesOf(`${prefix}engine_messages_total`, texts.taken);
  const now = samplesOf(`${prefix}engine_messages_total`, texts.now);
  return (connection) => {
    const countOf = (status: Status): number => {
      const of = (samples: ReadonlyMap<string, number>): number => samples.get(keyOf(connection, status)) ?? 0;
      // The totals keep what was once counted, whatever this process says of it now.
      return of(totals) + Math.max(0, of(now) - of(taken));
    };
    return Object.fromEntries(countedStatuses.map((status) => [status, countOf(status)])) as MessageCounts;
  };
}

/** Names of connections hold no slash. */
const keyOf = (connection: string, status: string): string => `${connection}/${status}`;

/** Samples that differ in other labels, which an application may give to all its metrics, are counted together. */
function samplesOf(name: string, text: string): ReadonlyMap<string, number> {
  const samples = new Map<string, number>();
  for (const line of text.split("\n")) {
    if (!line.startsWith(`${name}{`)) continue;
    const connection = /[{,]connection="([^"]*)"/.exec(line)?.[1];
    const status = /[{,]status="([^"]*)"/.exec(line)?.[1];
    const value = Number(line.slice(line.lastIndexOf(" ") + 1));
    if (connection === undefined || status === undefined || !Number.isFinite(value)) continue;
    const key = keyOf(connection, status);
    samples.set(key, (samples.get(key) ?? 0) + value);
  }
  return samples;
}
