import { HoldfastError } from "../../errors.js";
import type { Json } from "../../jobs/core/job.js";
import type { NodeConfig, ReferenceFailure, ReferenceRow, ReferenceVersion } from "../engine-contract.js";
import { shownLine } from "../engine-text.js";
import type { ReceivedLine, SettledJournal, StepLine } from "../journal.js";

const partitionSize = 1_000_000;

export interface MemoryMessage extends ReceivedLine {
  readonly receivedAt: number;
}

export interface MemoryStep extends StepLine {
  readonly at: number;
}

interface MemoryNamespace {
  version: number;
  readonly entries: Map<string, { readonly value: Json | undefined; readonly version: number }>;
}

/** The message engine's journal of one database in memory, and what its handlers keep. */
export class MemoryEngineTables {
  /** Their first ids, oldest first. */
  readonly partitions: { readonly firstId: number; readonly openedAt: number }[] = [];
  readonly messages = new Map<number, MemoryMessage>();
  readonly steps = new Map<number, MemoryStep[]>();
  readonly namespaces = new Map<string, MemoryNamespace>();
  readonly references = new Map<
    string,
    { readonly version: ReferenceVersion; readonly rows: readonly ReferenceRow[] }
  >();
  readonly referenceFailures = new Map<string, ReferenceFailure>();
  readonly configs = new Map<string, NodeConfig & { readonly incarnation: string }>();
  configVersion = 0;
  /** The words of all up to here would be in an index. */
  indexedUpTo = 0;
  private opened = 0;
  private readonly now: () => number;

  constructor(now: () => number) {
    this.now = now;
  }

  /** Where the next id is; null where there is no partition. */
  nextId(): { readonly next: number; readonly end: number } | null {
    const newest = this.partitions.at(-1);
    if (newest === undefined) return null;
    const next = Math.max(newest.firstId, 1, ...[...this.messages.keys()].slice(-1).map((id) => id + 1));
    return { next, end: newest.firstId + partitionSize };
  }

  openPartition(): { readonly next: number; readonly end: number } {
    const firstId = this.opened * partitionSize;
    this.opened += 1;
    this.partitions.push({ firstId, openedAt: this.now() });
    return { next: Math.max(firstId, 1), end: firstId + partitionSize };
  }

  partitionAgeMs(): number {
    const newest = this.partitions.at(-1);
    return newest === undefined ? 0 : this.now() - newest.openedAt;
  }

  dropPartition(olderThanMs: number): number | null {
    const [oldest, next] = this.partitions;
    if (oldest === undefined || next === undefined) return null;
    const held = [...this.messages.values()].filter(({ id }) => id < next.firstId);
    const newest = held.at(-1)?.receivedAt ?? oldest.openedAt;
    if (newest > this.now() - olderThanMs) return null;
    for (const { id } of held) {
      this.messages.delete(id);
      this.steps.delete(id);
    }
    this.partitions.shift();
    return held.length;
  }

  /** So many, or what is left of a partition that is closed; none where there are too few yet. */
  nextToIndex(limit: number): readonly number[] {
    const left = [...this.messages.keys()].filter((id) => id > this.indexedUpTo);
    const [first = 0] = left;
    const end = this.partitions.find(({ firstId }) => firstId > first)?.firstId;
    const run = left.filter((id) => id < (end ?? Number.POSITIVE_INFINITY)).slice(0, limit);
    return run.length >= limit || end !== undefined ? run : [];
  }

  /** Throws where the lines cannot be written, before anything has been. False where they are there already. */
  areNew(lines: readonly ReceivedLine[]): boolean {
    const { firstId, end } = this.room();
    const homeless = lines.find(({ id }) => id < firstId || id >= end);
    if (homeless !== undefined) {
      throw new HoldfastError("DATABASE_REFUSED", `There is no partition for message ${homeless.id}.`);
    }
    return !lines.some(({ id }) => this.messages.has(id));
  }

  private room(): { readonly firstId: number; readonly end: number } {
    const firstId = this.partitions[0]?.firstId ?? 0;
    return { firstId, end: (this.partitions.at(-1)?.firstId ?? -partitionSize) + partitionSize };
  }

  received(lines: readonly ReceivedLine[]): void {
    for (const line of lines) {
      const ack = line.ack === null ? null : Buffer.from(line.ack);
      this.messages.set(line.id, { ...shownLine(line), ack, receivedAt: this.now() });
    }
  }

  settled({ steps, state }: SettledJournal): void {
    const { firstId } = this.room();
    for (const step of steps.filter(({ id }) => id >= firstId)) {
      const known = this.steps.get(step.id) ?? [];
      this.steps.set(step.id, [...known, { ...step, detail: structuredClone(step.detail), at: this.now() }]);
    }
    const raised = new Set(state.map(({ namespace }) => namespace));
    for (const name of raised) this.namespace(name).version += 1;
    for (const { namespace: name, key, value } of state) {
      const namespace = this.namespace(name);
      namespace.entries.set(key, { value: structuredClone(value), version: namespace.version });
    }
  }

  private namespace(name: string): MemoryNamespace {
    const known = this.namespaces.get(name);
    if (known !== undefined) return known;
    const made: MemoryNamespace = { version: 0, entries: new Map() };
    this.namespaces.set(name, made);
    return made;
  }
}
