import type { Demand } from "../../jobs/core/job.js";
import { storable } from "./literal.js";

/** What the jobs of a message ask for, each demand once; most ask for the same. */
export class Demands {
  readonly records: unknown[] = [];
  /** What tells them apart, in the same order. */
  readonly keys: string[] = [];
  private readonly places = new Map<string, number>();
  private readonly simple = new Map<string, number>();

  /** Its place, counted from 1. */
  placeOf(demand: Demand): number {
    const { namespace, pinnedAgent, capabilities } = demand;
    if (pinnedAgent !== null || capabilities.length > 0) return this.placeOfAny(demand);
    const place = this.simple.get(namespace) ?? this.placeOfAny(demand);
    this.simple.set(namespace, place);
    return place;
  }

  private placeOfAny({ namespace, pinnedAgent, capabilities }: Demand): number {
    const record = {
      namespace: storable(namespace),
      pinned_agent: pinnedAgent === null ? undefined : storable(pinnedAgent),
      capabilities: capabilities.length === 0 ? undefined : sorted(capabilities.map(storable)),
    };
    const key = JSON.stringify(record);
    const known = this.places.get(key);
    if (known !== undefined) return known;
    this.keys.push(key);
    const place = this.records.push(record);
    this.places.set(key, place);
    return place;
  }
}

/** Jobs that ask for the same are found by it. */
const sorted = (capabilities: readonly string[]): readonly string[] => [...new Set(capabilities)].sort();

const mostKnown = 10_000;

/** The ids of demands that the database has told. It is asked whether they still hold wherever they are used. */
export class KnownDemands {
  private readonly ids = new Map<string, number>();

  /** Null where one of them is unknown. */
  idsOf({ keys }: Demands): readonly number[] | null {
    const ids: number[] = [];
    for (const key of keys) {
      const id = this.ids.get(key);
      if (id === undefined) return null;
      ids.push(id);
    }
    return ids;
  }

  learn({ keys }: Demands, ids: readonly number[]): void {
    if (this.ids.size > mostKnown) this.ids.clear();
    for (const [index, key] of keys.entries()) this.ids.set(key, ids[index] as number);
  }

  forget(): void {
    this.ids.clear();
  }
}
